-- Q1.1 for one month.
SELECT SUM(lo_extendedprice * lo_discount) AS revenue
FROM lineorder, dim_date
WHERE lo_orderdatekey = d_datekey
  AND d_yearmonthnum = 199401
  AND lo_discount BETWEEN 4 AND 6
  AND lo_quantity BETWEEN 26 AND 35;
