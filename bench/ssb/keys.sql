-- The secondary keys of lineorder, in one statement after the load: sorted and written in
-- sequence, whatever the size of the buffer pool. README.md has what that saves.

ALTER TABLE lineorder
  ADD KEY lo_orderkey (lo_orderkey, lo_linenumber),
  ADD KEY lo_custkey (lo_custkey),
  ADD KEY lo_suppkey (lo_suppkey),
  ADD KEY lo_partkey (lo_partkey),
  ADD KEY lo_orderdatekey (lo_orderdatekey),
  ADD KEY lo_commitdatekey (lo_commitdatekey);
