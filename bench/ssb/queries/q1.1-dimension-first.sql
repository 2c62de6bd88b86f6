-- Q1.1, joined from the dimension to the fact. Not one of the paper's 13.
SELECT STRAIGHT_JOIN SUM(lo_extendedprice * lo_discount) AS revenue
FROM dim_date, lineorder
WHERE lo_orderdatekey = d_datekey
  AND d_year = 1993
  AND lo_discount BETWEEN 1 AND 3
  AND lo_quantity < 25;
