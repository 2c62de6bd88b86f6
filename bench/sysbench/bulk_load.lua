-- Copyright (c) 2026, Sluice contributors.
-- GPLv2, see LICENSE.
--
-- Rows into a table of sysbench's shape, in the order of its primary key, some
-- rows an INSERT. An event is one statement, which commits. Texts are made
-- before the load begins, so that the client costs little while it runs.

sysbench.cmdline.options = {
  rows_per_insert = { "Rows in an INSERT statement", 1000 },
}

local texts = {}
local next_id = 1

function thread_init()
  connection = sysbench.sql.driver():connect()
  for i = 1, 1000 do
    texts[i] = string.format(",%d,'%s','%s')", sysbench.rand.uniform(1, 1000000),
      sysbench.rand.string(string.rep("@", 119)), sysbench.rand.string(string.rep("@", 59)))
  end
end

function event()
  local rows = {}
  for i = 1, sysbench.opt.rows_per_insert do
    rows[i] = "(" .. next_id .. texts[next_id % 1000 + 1]
    next_id = next_id + 1
  end
  connection:query("INSERT INTO load1 (id, k, c, pad) VALUES " .. table.concat(rows, ","))
end

function thread_done()
  connection:disconnect()
end
