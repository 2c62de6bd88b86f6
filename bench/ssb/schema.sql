-- Star Schema Benchmark, the schema of the measurements that Sluice answers to: lineorder
-- has no primary key; its secondary keys are in keys.sql, made after the load. Understood
-- by MySQL 5.5 and later and by MariaDB; nothing is left to defaults that differ between
-- them (engine, character set, row format), so that the pages are the same everywhere.
--
-- Columns and widths are the paper's: fixed text is CHAR, variable text VARCHAR. Money is in
-- cents and signed, since lo_revenue - lo_supplycost may be negative.

CREATE TABLE dim_date (
  d_datekey          INT         NOT NULL,  -- 19980327
  d_date             CHAR(18)    NOT NULL,  -- March 27, 1998
  d_dayofweek        CHAR(9)     NOT NULL,  -- Sunday ... Saturday
  d_month            CHAR(9)     NOT NULL,  -- January ... December
  d_year             SMALLINT    NOT NULL,  -- 1992 ... 1998
  d_yearmonthnum     INT         NOT NULL,  -- 199803
  d_yearmonth        CHAR(7)     NOT NULL,  -- Mar1998
  d_daynuminweek     TINYINT     NOT NULL,  -- Sunday is 1
  d_daynuminmonth    TINYINT     NOT NULL,
  d_daynuminyear     SMALLINT    NOT NULL,
  d_monthnuminyear   TINYINT     NOT NULL,
  d_weeknuminyear    TINYINT     NOT NULL,
  d_sellingseason    VARCHAR(12) NOT NULL,
  d_lastdayinweekfl  TINYINT     NOT NULL,  -- 0 or 1, as the other flags
  d_lastdayinmonthfl TINYINT     NOT NULL,
  d_holidayfl        TINYINT     NOT NULL,
  d_weekdayfl        TINYINT     NOT NULL,
  PRIMARY KEY (d_datekey),
  KEY d_date (d_date),
  KEY d_dayofweek (d_dayofweek),
  KEY d_month (d_month),
  KEY d_year (d_year),
  KEY d_yearmonthnum (d_yearmonthnum),
  KEY d_yearmonth (d_yearmonth),
  KEY d_weeknuminyear (d_weeknuminyear)
) ENGINE=InnoDB ROW_FORMAT=COMPACT DEFAULT CHARSET=latin1;

CREATE TABLE customer (
  c_custkey    INT         NOT NULL,
  c_name       VARCHAR(25) NOT NULL,
  c_address    VARCHAR(25) NOT NULL,
  c_city       CHAR(10)    NOT NULL,  -- 9 characters of the nation and a digit
  c_nation     CHAR(15)    NOT NULL,
  c_region     CHAR(12)    NOT NULL,
  c_phone      CHAR(15)    NOT NULL,
  c_mktsegment CHAR(10)    NOT NULL,
  PRIMARY KEY (c_custkey),
  KEY c_name (c_name),
  KEY c_city (c_city),
  KEY c_nation (c_nation),
  KEY c_region (c_region),
  KEY c_phone (c_phone),
  KEY c_mktsegment (c_mktsegment)
) ENGINE=InnoDB ROW_FORMAT=COMPACT DEFAULT CHARSET=latin1;

CREATE TABLE supplier (
  s_suppkey INT         NOT NULL,
  s_name    CHAR(25)    NOT NULL,
  s_address VARCHAR(25) NOT NULL,
  s_city    CHAR(10)    NOT NULL,
  s_nation  CHAR(15)    NOT NULL,
  s_region  CHAR(12)    NOT NULL,
  s_phone   CHAR(15)    NOT NULL,
  PRIMARY KEY (s_suppkey),
  KEY s_name (s_name),
  KEY s_city (s_city),
  KEY s_nation (s_nation),
  KEY s_region (s_region),
  KEY s_phone (s_phone)
) ENGINE=InnoDB ROW_FORMAT=COMPACT DEFAULT CHARSET=latin1;

CREATE TABLE part (
  p_partkey   INT         NOT NULL,
  p_name      VARCHAR(22) NOT NULL,
  p_mfgr      CHAR(6)     NOT NULL,  -- MFGR#1 ... MFGR#5
  p_category  CHAR(7)     NOT NULL,  -- MFGR#11 ... MFGR#55
  p_brand1    CHAR(9)     NOT NULL,  -- the category and 1 ... 40
  p_color     VARCHAR(11) NOT NULL,
  p_type      VARCHAR(25) NOT NULL,
  p_size      TINYINT     NOT NULL,
  p_container CHAR(10)    NOT NULL,
  PRIMARY KEY (p_partkey),
  KEY p_name (p_name),
  KEY p_mfgr (p_mfgr),
  KEY p_category (p_category),
  KEY p_brand1 (p_brand1)
) ENGINE=InnoDB ROW_FORMAT=COMPACT DEFAULT CHARSET=latin1;

CREATE TABLE lineorder (
  lo_orderkey      INT      NOT NULL,
  lo_linenumber    TINYINT  NOT NULL,  -- 1 ... 7
  lo_custkey       INT      NOT NULL,
  lo_partkey       INT      NOT NULL,
  lo_suppkey       INT      NOT NULL,
  lo_orderdatekey  INT      NOT NULL,
  lo_orderpriority CHAR(15) NOT NULL,
  lo_shippriority  CHAR(1)  NOT NULL,
  lo_quantity      TINYINT  NOT NULL,  -- 1 ... 50
  lo_extendedprice INT      NOT NULL,  -- cents
  lo_ordtotalprice INT      NOT NULL,  -- cents
  lo_discount      TINYINT  NOT NULL,  -- per cent, 0 ... 10
  lo_revenue       INT      NOT NULL,  -- cents
  lo_supplycost    INT      NOT NULL,  -- cents
  lo_tax           TINYINT  NOT NULL,  -- per cent, 0 ... 8
  lo_commitdatekey INT      NOT NULL,
  lo_shipmode      CHAR(10) NOT NULL
) ENGINE=InnoDB ROW_FORMAT=COMPACT DEFAULT CHARSET=latin1;
