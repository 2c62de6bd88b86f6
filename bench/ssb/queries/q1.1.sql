-- One year, medium discounts, small quantities: what giving no discount had brought in.
SELECT SUM(lo_extendedprice * lo_discount) AS revenue
FROM lineorder, dim_date
WHERE lo_orderdatekey = d_datekey
  AND d_year = 1993
  AND lo_discount BETWEEN 1 AND 3
  AND lo_quantity < 25;
