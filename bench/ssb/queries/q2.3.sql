-- Q2.1 for one brand.
SELECT SUM(lo_revenue) AS revenue, d_year, p_brand1
FROM lineorder, dim_date, part, supplier
WHERE lo_orderdatekey = d_datekey
  AND lo_partkey = p_partkey
  AND lo_suppkey = s_suppkey
  AND p_brand1 = 'MFGR#2239'
  AND s_region = 'EUROPE'
GROUP BY d_year, p_brand1
ORDER BY d_year, p_brand1;
