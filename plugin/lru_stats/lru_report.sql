-- Copyright (c) 2026, Sluice contributors.
-- GPLv2, see LICENSE.
--
-- Views that say in words what the tables of lru_stats.so show in numbers.
--
--   mysql < lru_report.sql
--   mysql --table --execute='SELECT PRIORITY, TOPIC, ADVICE, CONFIDENCE FROM sys.lru_report'
--
-- It makes, in the schema `sys`, the views
--   lru_report   advice, the most urgent first, with the figures behind it
--   lru_whatif   what other settings would do
--   lru_indexes  indexes, those whose pages are read again most first
--   lru_ages     how long pages lived, in words and as a histogram
-- and changes nothing else. Run it again after an upgrade: it replaces them, and
-- those of older versions, which were in a schema `sluice`.
--
-- Needed: the plugins INNODB_LRU_WHATIF, INNODB_LRU_INDEX_STATS and
-- INNODB_LRU_AGE_HISTOGRAM (plugin-load-add=lru_stats.so loads them); to run
-- this file CREATE VIEW, DROP and SELECT on `sys`, DROP on `sluice` and the right
-- to set sql_log_bin. The views have the rights of their reader: PROCESS, and SELECT on `sys`.
--
-- A server without the plugins can neither read nor create the views. So they
-- are not written to the binary log, for a replica, and are in `sys`, which
-- dumps of all databases leave out. To remove them:
--   SET SESSION sql_log_bin = OFF;
--   DROP VIEW sys.lru_report, sys.lru_whatif, sys.lru_indexes, sys.lru_ages;

SET NAMES utf8mb4;
SET @lru_report_log_bin = @@SESSION.sql_log_bin;
SET SESSION sql_log_bin = OFF;
DROP VIEW IF EXISTS sluice.lru_report, sluice.lru_whatif, sluice.lru_indexes, sluice.lru_ages;

-- What-if. "Running" is the row of the settings that the server has; its figures
-- stand beside each row by means of window functions, so that the table is read
-- once and all rows are of the same moment.
CREATE OR REPLACE SQL SECURITY INVOKER VIEW sys.lru_whatif AS
WITH w AS (
  SELECT POOL_SIZE, OLD_BLOCKS_PCT, OLD_BLOCKS_TIME, IS_RUNNING,
         ESTIMATED_HIT_PCT, ERROR_HIT_PCT, ESTIMATED_READS_PER_SECOND,
         MEASURED_HIT_PCT, MEASURED_READS_PER_SECOND, FILLED_PCT, CONFIDENCE,
         SAMPLED_REFERENCES, SECONDS,
         MAX(CASE WHEN IS_RUNNING = 'YES' THEN ESTIMATED_HIT_PCT END) OVER ()
           AS RUNNING_HIT_PCT
    FROM INFORMATION_SCHEMA.INNODB_LRU_WHATIF
)
SELECT CASE WHEN POOL_SIZE % 1073741824 = 0
              THEN CONCAT(POOL_SIZE DIV 1073741824, 'G')
            WHEN POOL_SIZE % 1048576 = 0
              THEN CONCAT(POOL_SIZE DIV 1048576, 'M')
            WHEN POOL_SIZE % 1024 = 0
              THEN CONCAT(POOL_SIZE DIV 1024, 'K')
            ELSE CONCAT(POOL_SIZE, '') END AS POOL_SIZE,
       OLD_BLOCKS_TIME,
       OLD_BLOCKS_PCT,
       IS_RUNNING AS RUNNING,
       ROUND(ESTIMATED_HIT_PCT, 3) AS HIT_PCT,
       ROUND(ERROR_HIT_PCT, 3) AS PLUS_MINUS,
       ROUND(MEASURED_HIT_PCT, 3) AS MEASURED_HIT_PCT,
       ROUND(ESTIMATED_READS_PER_SECOND, 1) AS READS_PER_SECOND,
       ROUND(MEASURED_READS_PER_SECOND, 1) AS MEASURED_READS_PER_SECOND,
       -- Negative: more is read than now. NULL: now nothing is read at all. Hits are as many
       -- with all settings, as a page that is read has a get of its own; so reads are as
       -- misses by hits.
       ROUND(100 * (1 - (100 - ESTIMATED_HIT_PCT) / NULLIF(ESTIMATED_HIT_PCT, 0) /
                        NULLIF((100 - RUNNING_HIT_PCT) / NULLIF(RUNNING_HIT_PCT, 0), 0)), 1)
         AS READS_SAVED_PCT,
       ROUND(FILLED_PCT, 1) AS FILLED_PCT,
       CONFIDENCE,
       SAMPLED_REFERENCES,
       ROUND(SECONDS, 0) AS SECONDS,
       POOL_SIZE AS POOL_BYTES
  FROM w
 ORDER BY POOL_BYTES, OLD_BLOCKS_TIME, OLD_BLOCKS_PCT;

-- Indexes. That of a table which is not in InnoDB's dictionary cache has no name, but
-- a number: INNODB_INDEXES has the name, but waits for the metadata lock of every table.
-- The sums are DECIMAL before anything is subtracted: PAGES_READ_AGAIN is estimated and
-- may exceed what was read.
CREATE OR REPLACE SQL SECURITY INVOKER VIEW sys.lru_indexes AS
WITH s AS (
  SELECT CASE WHEN x.TABLE_NAME IS NOT NULL
                THEN CONCAT(CASE WHEN x.SCHEMA_NAME IS NULL THEN ''
                                 ELSE CONCAT(x.SCHEMA_NAME, '.') END,
                            x.TABLE_NAME,
                            CASE WHEN x.PARTITION_NAME IS NULL THEN ''
                                 ELSE CONCAT(', partition ', x.PARTITION_NAME) END,
                            CASE WHEN x.INDEX_NAME LIKE '(%' THEN CONCAT(' ', x.INDEX_NAME)
                                 WHEN x.INDEX_NAME IS NULL
                                   THEN CONCAT(' (index ', x.INDEX_ID, ')')
                                 ELSE CONCAT(' (', x.INDEX_NAME, ')') END)
              WHEN x.INDEX_NAME LIKE '(%' THEN x.INDEX_NAME
              WHEN x.INDEX_NAME IS NOT NULL
                THEN CONCAT('index ', x.INDEX_NAME, ' of tablespace ',
                            COALESCE(x.SPACE_ID, '?'))
              ELSE CONCAT('index ', COALESCE(x.INDEX_ID, '?'), ' of tablespace ',
                          COALESCE(x.SPACE_ID, '?')) END AS NAME,
         x.PAGES_READ + 0.0 AS PAGES,  -- read-ahead is in it
         x.PAGES_READ_AHEAD, x.PAGES_READ_AGAIN + 0.0 AS AGAIN,
         x.PAGES_MADE_YOUNG, x.PAGES_NOT_MADE_YOUNG,
         x.PAGES_EVICTED_OLD + x.PAGES_EVICTED_YOUNG AS EVICTED,
         x.PAGES_EVICTED_UNTOUCHED,
         x.PAGES_YOUNG + x.PAGES_OLD AS IN_POOL, x.PAGES_YOUNG, x.PAGES_OLD,
         x.PAGES_DIRTY, x.BYTES_READ, x.COUNTED_SINCE, x.SPACE_ID, x.INDEX_ID
    FROM INFORMATION_SCHEMA.INNODB_LRU_INDEX_STATS x
)
SELECT NAME,
       CAST(AGAIN AS UNSIGNED) AS PAGES_READ_AGAIN,
       CAST(PAGES AS UNSIGNED) AS PAGES_READ,
       ROUND(100 * PAGES / NULLIF(SUM(PAGES) OVER (), 0), 1) AS SHARE_OF_READS_PCT,
       ROUND(100 * AGAIN / NULLIF(SUM(AGAIN) OVER (), 0), 1) AS SHARE_OF_READ_AGAIN_PCT,
       -- How often a page was read again for each time it was read for the first.
       ROUND(AGAIN / NULLIF(GREATEST(PAGES - AGAIN, 0), 0), 2) AS TIMES_READ_AGAIN,
       PAGES_READ_AHEAD,
       EVICTED AS PAGES_EVICTED,
       PAGES_EVICTED_UNTOUCHED,
       PAGES_MADE_YOUNG,
       PAGES_NOT_MADE_YOUNG,
       IN_POOL AS PAGES_IN_POOL,
       ROUND(100.0 * IN_POOL / NULLIF(SUM(IN_POOL) OVER (), 0), 1) AS SHARE_OF_POOL_PCT,
       PAGES_YOUNG, PAGES_OLD, PAGES_DIRTY,
       ROUND(BYTES_READ / 1048576, 1) AS MIB_READ,
       COUNTED_SINCE, SPACE_ID, INDEX_ID
  FROM s
 ORDER BY PAGES_READ_AGAIN DESC, PAGES_READ DESC, NAME;

-- Ages. A bucket of the histogram a row; in words where the half and nine tenths
-- are reached, and where innodb_old_blocks_time falls. That a bucket's pages are
-- spread evenly in it is an assumption.
CREATE OR REPLACE SQL SECURITY INVOKER VIEW sys.lru_ages AS
WITH v AS (
  -- Not from performance_schema.global_variables: its reader would need SELECT there.
  SELECT MAX(CASE WHEN IS_RUNNING = 'YES' THEN OLD_BLOCKS_TIME + 0.0 END) AS OLD_TIME
    FROM INFORMATION_SCHEMA.INNODB_LRU_WHATIF
), p AS (
  -- All instances together: the row that says so, else their sum.
  SELECT EVENT, BUCKET, MAX(LOW_MS) AS LOW_MS, MAX(HIGH_MS) AS HIGH_MS,
         COALESCE(SUM(CASE WHEN POOL_ID IS NULL THEN PAGES END), SUM(PAGES), 0) AS PAGES,
         COALESCE(SUM(CASE WHEN POOL_ID IS NULL THEN SAMPLES END), SUM(SAMPLES), 0) AS SAMPLES
    FROM INFORMATION_SCHEMA.INNODB_LRU_AGE_HISTOGRAM
   GROUP BY EVENT, BUCKET
), h AS (
  -- A bucket without pages may be missing. OLD_BUCKET: the one innodb_old_blocks_time
  -- is in, or the next one, or the last.
  SELECT p.*, v.OLD_TIME,
         SUM(PAGES) OVER (PARTITION BY EVENT) AS ALL_PAGES,
         SUM(SAMPLES) OVER (PARTITION BY EVENT) AS ALL_SAMPLES,
         SUM(PAGES) OVER (PARTITION BY EVENT ORDER BY BUCKET
                          ROWS UNBOUNDED PRECEDING) AS UP_TO,
         MIN(BUCKET) OVER (PARTITION BY EVENT) AS FIRST_BUCKET,
         COALESCE(MIN(CASE WHEN HIGH_MS IS NULL OR HIGH_MS >= OLD_TIME THEN BUCKET END)
                    OVER (PARTITION BY EVENT),
                  MAX(BUCKET) OVER (PARTITION BY EVENT)) AS OLD_BUCKET
    FROM p LEFT JOIN v ON 1 = 1
), t AS (
  SELECT h.*,
         CASE WHEN HIGH_MS IS NULL THEN NULL
              WHEN HIGH_MS < 1000 THEN CONCAT(HIGH_MS, ' ms')
              WHEN HIGH_MS < 120000 THEN CONCAT(FORMAT(HIGH_MS / 1000, 1), ' s')
              WHEN HIGH_MS < 7200000 THEN CONCAT(FORMAT(HIGH_MS / 60000, 1), ' min')
              ELSE CONCAT(FORMAT(HIGH_MS / 3600000, 1), ' h') END AS HIGH_TEXT,
         CASE WHEN LOW_MS < 1000 THEN CONCAT(LOW_MS, ' ms')
              WHEN LOW_MS < 120000 THEN CONCAT(FORMAT(LOW_MS / 1000, 1), ' s')
              WHEN LOW_MS < 7200000 THEN CONCAT(FORMAT(LOW_MS / 60000, 1), ' min')
              ELSE CONCAT(FORMAT(LOW_MS / 3600000, 1), ' h') END AS LOW_TEXT,
         CASE EVENT WHEN 'TOUCHED_AGAIN' THEN 'of the pages touched again were touched'
                    WHEN 'MADE_YOUNG' THEN 'of the pages made young were so'
                    WHEN 'EVICTED' THEN 'of the pages evicted were so'
                    WHEN 'READ_AGAIN' THEN 'of the pages read again were so'
                    ELSE 'of the pages were there' END AS WHAT,
         CASE EVENT WHEN 'TOUCHED_AGAIN' THEN ' after their first access'
                    WHEN 'MADE_YOUNG' THEN ' after their first access'
                    WHEN 'EVICTED' THEN ' after they were read in'
                    WHEN 'READ_AGAIN' THEN ' after they were evicted'
                    ELSE '' END AS AFTER_WHAT
    FROM h
)
SELECT EVENT,
       CASE WHEN HIGH_MS IS NULL THEN CONCAT('from ', LOW_TEXT)
            ELSE CONCAT(LOW_TEXT, ' to ', HIGH_TEXT) END AS AGE,
       CAST(PAGES AS UNSIGNED) AS PAGES,
       ROUND(100 * PAGES / NULLIF(ALL_PAGES, 0), 1) AS PCT,
       ROUND(100 * UP_TO / NULLIF(ALL_PAGES, 0), 1) AS PCT_UP_TO_HERE,
       REPEAT('#', COALESCE(ROUND(40 * PAGES / NULLIF(ALL_PAGES, 0)), 0)) AS BAR,
       NULLIF(CONCAT_WS('; ',
         CASE WHEN ALL_PAGES > 0 AND UP_TO >= 0.5 * ALL_PAGES
                   AND UP_TO - PAGES < 0.5 * ALL_PAGES
              THEN CONCAT('half ', WHAT,
                          CASE WHEN HIGH_MS IS NULL THEN CONCAT(' within more than ', LOW_TEXT)
                               ELSE CONCAT(' within ', HIGH_TEXT) END, AFTER_WHAT) END,
         CASE WHEN ALL_PAGES > 0 AND UP_TO >= 0.9 * ALL_PAGES
                   AND UP_TO - PAGES < 0.9 * ALL_PAGES
              THEN CONCAT('nine tenths ', WHAT,
                          CASE WHEN HIGH_MS IS NULL THEN CONCAT(' within more than ', LOW_TEXT)
                               ELSE CONCAT(' within ', HIGH_TEXT) END, AFTER_WHAT) END,
         CASE WHEN EVENT = 'TOUCHED_AGAIN' AND ALL_PAGES > 0 AND OLD_TIME > 0
                   AND BUCKET = OLD_BUCKET
              THEN CONCAT('innodb_old_blocks_time=', ROUND(OLD_TIME), ' hides ',
                          CASE WHEN HIGH_MS IS NULL AND OLD_TIME > LOW_MS THEN 'at least '
                               ELSE 'about ' END,
                          FORMAT(100 * (UP_TO - PAGES + PAGES *
                            COALESCE(LEAST(GREATEST((OLD_TIME - LOW_MS) /
                                                    NULLIF(HIGH_MS - LOW_MS, 0), 0), 1), 0)) /
                            ALL_PAGES, 0),
                          ' % of these touches: they leave their page where it is') END,
         CASE WHEN BUCKET = FIRST_BUCKET AND ALL_PAGES > 0 AND ALL_SAMPLES < 1000
              THEN CONCAT('only ', ALL_SAMPLES, ' samples: do not trust the shares') END),
         '') AS IN_WORDS,
       SAMPLES, BUCKET, LOW_MS, HIGH_MS
  FROM t
 ORDER BY FIELD(EVENT, 'TOUCHED_AGAIN', 'MADE_YOUNG', 'EVICTED', 'READ_AGAIN'), EVENT, BUCKET;

-- The report. STATE says what the evidence is worth: 0 no rows, 1 nothing known of
-- the running settings, 2 the simulation of the running settings is far from what
-- was measured, 3 confidence LOW, 4 usable. "Far": the hit rates differ by more than
-- the error and a quarter of what is missed. Compared is always simulation with
-- simulation, so what both get wrong alike cancels out.
--
-- "Gain" is at least 5 % fewer reads. It is "clear" if the error bars do not
-- overlap. NULLs stay NULL and a row without an estimate gives no advice.
CREATE OR REPLACE SQL SECURITY INVOKER VIEW sys.lru_report AS
WITH w AS (
  SELECT POOL_SIZE, OLD_BLOCKS_PCT, OLD_BLOCKS_TIME, FILLED_PCT, IS_RUNNING,
         CASE WHEN CONFIDENCE = 'NONE' THEN NULL ELSE ESTIMATED_HIT_PCT END AS HIT,
         COALESCE(ERROR_HIT_PCT, 100) AS ERR,
         ESTIMATED_READS_PER_SECOND AS READS_S,
         FIELD(COALESCE(CONFIDENCE, 'NONE'), 'NONE', 'LOW', 'MEDIUM', 'HIGH') AS CONF,
         SAMPLED_REFERENCES, SECONDS, MEASURED_HIT_PCT,
         CASE WHEN POOL_SIZE % 1073741824 = 0
                THEN CONCAT(POOL_SIZE DIV 1073741824, 'G')
              WHEN POOL_SIZE % 1048576 = 0
                THEN CONCAT(POOL_SIZE DIV 1048576, 'M')
              WHEN POOL_SIZE % 1024 = 0
                THEN CONCAT(POOL_SIZE DIV 1024, 'K')
              ELSE CONCAT(POOL_SIZE, '') END AS SIZE_TEXT,
         MAX(CASE WHEN IS_RUNNING = 'YES' THEN POOL_SIZE END) OVER () AS R_SIZE,
         MAX(CASE WHEN IS_RUNNING = 'YES' THEN OLD_BLOCKS_PCT END) OVER () AS R_PCT,
         MAX(CASE WHEN IS_RUNNING = 'YES' THEN OLD_BLOCKS_TIME END) OVER () AS R_TIME,
         MAX(CASE WHEN IS_RUNNING = 'YES' AND CONFIDENCE <> 'NONE'
                  THEN ESTIMATED_HIT_PCT END) OVER () AS R_HIT,
         COALESCE(MAX(CASE WHEN IS_RUNNING = 'YES' THEN ERROR_HIT_PCT END) OVER (), 100) AS R_ERR,
         MAX(CASE WHEN IS_RUNNING = 'YES' THEN ESTIMATED_READS_PER_SECOND END) OVER ()
           AS R_READS_S,
         MAX(CASE WHEN IS_RUNNING = 'YES' THEN MEASURED_HIT_PCT END) OVER () AS R_MEASURED,
         MAX(CASE WHEN IS_RUNNING = 'YES' THEN SECONDS END) OVER () AS R_SECONDS,
         MAX(CASE WHEN IS_RUNNING = 'YES'
                  THEN FIELD(COALESCE(CONFIDENCE, 'NONE'), 'NONE', 'LOW', 'MEDIUM', 'HIGH') END)
           OVER () AS R_CONF
    FROM INFORMATION_SCHEMA.INNODB_LRU_WHATIF
), c AS (
  SELECT w.*,
         MAX(CASE WHEN IS_RUNNING = 'YES' THEN SIZE_TEXT END) OVER () AS R_SIZE_TEXT,
         100 * (1 - (100 - HIT) / NULLIF(HIT, 0) /
                    NULLIF((100 - R_HIT) / NULLIF(R_HIT, 0), 0)) AS SAVED,
         HIT - ERR > R_HIT + R_ERR AS CLEAR_GAIN,
         CASE WHEN POOL_SIZE = R_SIZE AND OLD_BLOCKS_PCT = R_PCT AND OLD_BLOCKS_TIME = R_TIME
                THEN 'running'
              WHEN OLD_BLOCKS_PCT = R_PCT AND OLD_BLOCKS_TIME = R_TIME
                THEN CASE WHEN POOL_SIZE > R_SIZE THEN 'larger' ELSE 'smaller' END
              WHEN POOL_SIZE = R_SIZE AND OLD_BLOCKS_PCT = R_PCT THEN 'old_blocks_time'
              WHEN POOL_SIZE = R_SIZE AND OLD_BLOCKS_TIME = R_TIME THEN 'old_blocks_pct'
              WHEN R_SIZE IS NOT NULL THEN 'several' END AS CHANGED
    FROM w
), g AS (
  -- Per kind of change: which row gains first (in size), most, and what comes before.
  SELECT c.*,
         MIN(CASE WHEN SAVED > 5 THEN POOL_SIZE END) OVER (PARTITION BY CHANGED) AS FIRST_SIZE,
         ROW_NUMBER() OVER (PARTITION BY CHANGED ORDER BY HIT DESC, POOL_SIZE,
                            OLD_BLOCKS_TIME DESC, OLD_BLOCKS_PCT) AS BEST,
         ROW_NUMBER() OVER (PARTITION BY CHANGED, COALESCE(SAVED >= -5, HIT >= 100)
                            ORDER BY POOL_SIZE) AS SMALLEST,
         ROW_NUMBER() OVER (PARTITION BY CHANGED, POOL_SIZE
                            ORDER BY HIT DESC, OLD_BLOCKS_TIME DESC) AS BEST_OF_SIZE,
         MAX(SAVED) OVER (PARTITION BY CHANGED) AS MOST_SAVED,
         -- With the same pool, or with the same time: what one change alone would save.
         MAX(CASE WHEN CHANGED = 'larger' THEN SAVED END) OVER (PARTITION BY POOL_SIZE)
           AS SIZE_ALONE,
         MAX(CASE WHEN CHANGED = 'old_blocks_time' THEN SAVED END)
           OVER (PARTITION BY OLD_BLOCKS_TIME) AS TIME_ALONE
    FROM c
), b AS (
  SELECT g.*,
         MAX(CASE WHEN POOL_SIZE = FIRST_SIZE THEN SAVED END) OVER (PARTITION BY CHANGED)
           AS FIRST_SAVED,
         -- What only grows the pool and gains next to nothing is not worth a line.
         MIN(CASE WHEN SAVED >= MOST_SAVED - 2 THEN POOL_SIZE END)
           OVER (PARTITION BY CHANGED) AS ENOUGH_SIZE,
         MAX(CASE WHEN CHANGED = 'several' AND POOL_SIZE > R_SIZE
                       AND SAVED >= 5 + GREATEST(COALESCE(SIZE_ALONE, 0),
                                                 COALESCE(TIME_ALONE, 0), 0)
                  THEN SAVED END) OVER () AS BEST_PAIR
    FROM g
), e AS (
  -- Always one row, also if the table is empty.
  SELECT n.*,
         CASE WHEN N_ROWS = 0 THEN 0
              WHEN HIT IS NULL OR CONF IS NULL OR CONF <= 1 THEN 1
              WHEN ABS(HIT - MEASURED) >
                   GREATEST(ERR, 0.25 * (100 - LEAST(HIT, MEASURED)), 0.1) THEN 2
              WHEN CONF = 2 THEN 3
              ELSE 4 END AS STATE
    FROM (
      SELECT COUNT(*) AS N_ROWS, MAX(R_HIT) AS HIT, MAX(R_ERR) AS ERR, MAX(R_CONF) AS CONF,
             MAX(R_MEASURED) AS MEASURED, MAX(R_READS_S) AS READS_S,
             MAX(R_SIZE_TEXT) AS SIZE_TEXT, MAX(R_TIME) AS OLD_TIME, MAX(R_PCT) AS OLD_PCT,
             MAX(SAVED) AS BEST_SAVED,
             MAX(CASE WHEN CHANGED <> 'running' AND HIT IS NOT NULL THEN 1 ELSE 0 END)
               AS COMPARED,
             MAX(CASE WHEN IS_RUNNING = 'YES' THEN SAMPLED_REFERENCES END) AS SAMPLED,
             MAX(CASE WHEN IS_RUNNING = 'YES' THEN SECONDS END) AS SECS,
             MAX(CASE WHEN IS_RUNNING = 'YES' THEN FILLED_PCT END) AS FILLED
        FROM c
    ) n
), x AS (
  SELECT NAME, PAGES_READ + 0.0 AS PAGES, COALESCE(PAGES_READ_AGAIN, 0) + 0.0 AS AGAIN,
         TIMES_READ_AGAIN,
         ROW_NUMBER() OVER (ORDER BY PAGES_READ_AGAIN DESC, PAGES_READ DESC, NAME) AS PLACE
    FROM sys.lru_indexes
), i AS (
  -- Always one row, too.
  SELECT COUNT(*) AS N_ROWS, SUM(PAGES) AS PAGES, SUM(AGAIN) AS AGAIN,
         MAX(CASE WHEN PLACE = 1 THEN NAME END) AS TOP_NAME,
         MAX(CASE WHEN PLACE = 1 THEN PAGES END) AS TOP_PAGES,
         MAX(CASE WHEN PLACE = 1 THEN AGAIN END) AS TOP_AGAIN,
         MAX(CASE WHEN PLACE = 1 AND AGAIN > 0 THEN
               CASE WHEN TIMES_READ_AGAIN >= 1
                      THEN CONCAT('pages of ', NAME, ' are read again ',
                                  FORMAT(TIMES_READ_AGAIN, 1), ' times')
                    WHEN TIMES_READ_AGAIN IS NULL
                      THEN CONCAT('pages of ', NAME, ' are read again and again')
                    ELSE CONCAT(FORMAT(100 * AGAIN / NULLIF(PAGES, 0), 0), ' % of the pages read of ',
                                NAME, ' are read again') END END) AS TOP_TEXT
    FROM x
), change_rows AS (
  SELECT b.*, v.STATE,
         FORMAT(R_HIT, CASE WHEN R_HIT > 99 OR HIT > 99 THEN 2 ELSE 1 END) AS HIT_NOW_TEXT,
         FORMAT(HIT, CASE WHEN R_HIT > 99 OR HIT > 99 THEN 2 ELSE 1 END) AS HIT_THEN_TEXT,
         CASE WHEN v.STATE = 2 THEN 'not to be trusted, see evidence: '
              WHEN v.STATE = 3 OR CONF = 2 THEN 'perhaps, on thin evidence: '
              ELSE '' END AS BEFORE_TEXT,
         CASE WHEN CLEAR_GAIN THEN ''
              ELSE CONCAT('; this may be chance, the error bars overlap (+- ',
                          FORMAT(R_ERR, 2), ' and +- ', FORMAT(ERR, 2), ' points)') END
           AS CHANCE_TEXT,
         MIN(CASE WHEN CHANGED = 'several' AND POOL_SIZE > R_SIZE AND SAVED >= BEST_PAIR - 2
                       AND SAVED >= 5 + GREATEST(COALESCE(SIZE_ALONE, 0),
                                                 COALESCE(TIME_ALONE, 0), 0)
                  THEN POOL_SIZE END) OVER () AS PAIR_SIZE,
         CASE WHEN FILLED_PCT < 90
                THEN CONCAT('; its simulated list is filled to only ', FORMAT(FILLED_PCT, 0),
                            ' %, so more may be known later') ELSE '' END AS FILLED_TEXT,
         -- A simulated pool counts from when it was full, a large one later than a small one.
         CASE WHEN SECONDS < 0.5 * R_SECONDS
                THEN CONCAT('; counted over the last ', FORMAT(SECONDS, 0), ' s only, now over ',
                            FORMAT(R_SECONDS, 0), ' s') ELSE '' END AS WINDOW_TEXT,
         CASE WHEN v.STATE = 4 AND CONF > 2 AND CLEAR_GAIN THEN 2 ELSE 3 END AS GAIN_PRIORITY,
         CASE WHEN v.STATE = 2 THEN 'NONE'
              ELSE ELT(LEAST(CONF, R_CONF), 'NONE', 'LOW', 'MEDIUM', 'HIGH') END AS WORTH
    FROM b CROSS JOIN (SELECT STATE FROM e) v
   WHERE v.STATE >= 2 AND CHANGED <> 'running' AND HIT IS NOT NULL
), r AS (
  SELECT CASE WHEN STATE < 4 THEN 1 ELSE 6 END AS PRIORITY,
         'evidence' AS TOPIC,
         CASE STATE
           WHEN 0 THEN 'nothing to judge by: INNODB_LRU_WHATIF has no rows (innodb_lru_whatif_enabled=OFF?)'
           WHEN 1 THEN CONCAT('no evidence yet: ', COALESCE(SAMPLED, 0), ' sampled accesses in ',
                              COALESCE(ROUND(SECS), 0), ' s. Ask again under load')
           WHEN 2 THEN CONCAT('do not trust the simulation: for the running settings it says a hit rate of ',
                              FORMAT(HIT, 2), ' %, measured were ', FORMAT(MEASURED, 2), ' %')
           WHEN 3 THEN CONCAT('the evidence is thin: ', COALESCE(SAMPLED, 0), ' sampled accesses in ',
                              COALESCE(ROUND(SECS), 0), ' s, hit rate ', FORMAT(HIT, 2), ' % +- ',
                              FORMAT(ERR, 2), ' points, measured ',
                              COALESCE(CONCAT(FORMAT(MEASURED, 2), ' %'), 'not yet'),
                              '. Wait before you change anything')
           ELSE CONCAT('usable: simulated hit rate of the running settings ', FORMAT(HIT, 2), ' % +- ',
                       FORMAT(ERR, 2), ' points, measured ',
                       COALESCE(CONCAT(FORMAT(MEASURED, 2), ' %'), 'not yet'), '; ',
                       COALESCE(SAMPLED, 0), ' sampled accesses in ', COALESCE(ROUND(SECS), 0), ' s')
           END AS ADVICE,
         NULL AS FROM_VALUE, NULL AS TO_VALUE,
         HIT AS HIT_NOW, NULL AS HIT_THEN, READS_S AS READS_NOW, NULL AS READS_THEN,
         CASE WHEN STATE <= 2 THEN 'NONE' ELSE ELT(CONF, 'NONE', 'LOW', 'MEDIUM', 'HIGH') END
           AS CONFIDENCE,
         0.0 AS SAVED
    FROM e
  UNION ALL
  SELECT 4, 'evidence',
         CASE WHEN HIT >= 100
                THEN 'nothing to gain: nothing is read with the running settings'
              ELSE 'nothing to gain: no setting tried would cut reads by more than 5 %' END,
         NULL, NULL, HIT, NULL, READS_S, NULL, ELT(CONF, 'NONE', 'LOW', 'MEDIUM', 'HIGH'), 0.0
    FROM e
   WHERE STATE = 4 AND COMPARED = 1 AND COALESCE(BEST_SAVED, 0) <= 5
  UNION ALL
  -- The first larger size that gains, and the one that gains most if that is worth more.
  SELECT GAIN_PRIORITY, 'buffer pool size',
         CONCAT(BEFORE_TEXT, 'raising the buffer pool from ', R_SIZE_TEXT, ' to ', SIZE_TEXT,
                ' would cut reads by ', FORMAT(SAVED, 0), ' %', CHANCE_TEXT, FILLED_TEXT, WINDOW_TEXT),
         R_SIZE_TEXT, SIZE_TEXT, R_HIT, HIT, R_READS_S, READS_S, WORTH, SAVED
    FROM change_rows
   WHERE CHANGED = 'larger' AND SAVED > 5
     AND (POOL_SIZE = FIRST_SIZE OR (POOL_SIZE = ENOUGH_SIZE AND SAVED >= FIRST_SAVED + 5))
  UNION ALL
  SELECT GAIN_PRIORITY, 'buffer pool size',
         CONCAT(BEFORE_TEXT, 'a buffer pool of ', SIZE_TEXT, ' together with innodb_old_blocks_time=',
                OLD_BLOCKS_TIME, ' would cut reads by ', FORMAT(SAVED, 0),
                ' %, more than either alone', CHANCE_TEXT, FILLED_TEXT, WINDOW_TEXT),
         CONCAT(R_SIZE_TEXT, ', ', R_TIME), CONCAT(SIZE_TEXT, ', ', OLD_BLOCKS_TIME),
         R_HIT, HIT, R_READS_S, READS_S, WORTH, SAVED
    FROM change_rows
   WHERE CHANGED = 'several' AND POOL_SIZE = PAIR_SIZE AND BEST_OF_SIZE = 1
  UNION ALL
  SELECT 5, 'buffer pool size',
         CONCAT(BEFORE_TEXT, 'the buffer pool could be smaller: from ', R_SIZE_TEXT, ' to ', SIZE_TEXT,
                CASE WHEN SAVED < -0.5 THEN CONCAT(' reads would grow by ', FORMAT(-SAVED, 0), ' %')
                     ELSE ' reads would not grow' END,
                COALESCE(CONCAT(', at worst by ',
                                FORMAT(GREATEST(100 * ((100 - HIT + ERR) / NULLIF(HIT - ERR, 0) /
                                                       NULLIF((100 - R_HIT) / NULLIF(R_HIT, 0), 0)
                                                       - 1), 0), 0), ' %'),
                         '')),
         R_SIZE_TEXT, SIZE_TEXT, R_HIT, HIT, R_READS_S, READS_S, WORTH, SAVED
    FROM change_rows
   WHERE CHANGED = 'smaller' AND STATE = 4 AND CONF > 2 AND SMALLEST = 1
     AND (SAVED >= -5 OR (R_HIT >= 100 AND HIT >= 100))
  UNION ALL
  SELECT GAIN_PRIORITY, 'old_blocks_time',
         CONCAT(BEFORE_TEXT, 'innodb_old_blocks_time=', OLD_BLOCKS_TIME,
                ' would raise the hit rate from ', HIT_NOW_TEXT, ' % to ', HIT_THEN_TEXT,
                ' % and cut reads by ', FORMAT(SAVED, 0), ' %', CHANCE_TEXT, WINDOW_TEXT,
                COALESCE(CONCAT(': ', i.TOP_TEXT), '')),
         CONCAT(R_TIME, ''), CONCAT(OLD_BLOCKS_TIME, ''), R_HIT, HIT, R_READS_S, READS_S, WORTH, SAVED
    FROM change_rows CROSS JOIN i
   WHERE CHANGED = 'old_blocks_time' AND SAVED > 5 AND BEST = 1
  UNION ALL
  SELECT GAIN_PRIORITY, 'old_blocks_pct',
         CONCAT(BEFORE_TEXT, 'innodb_old_blocks_pct=', OLD_BLOCKS_PCT,
                ' would raise the hit rate from ', HIT_NOW_TEXT, ' % to ', HIT_THEN_TEXT,
                ' % and cut reads by ', FORMAT(SAVED, 0), ' %', CHANCE_TEXT, WINDOW_TEXT),
         CONCAT(R_PCT, ''), CONCAT(OLD_BLOCKS_PCT, ''), R_HIT, HIT, R_READS_S, READS_S, WORTH, SAVED
    FROM change_rows
   WHERE CHANGED = 'old_blocks_pct' AND SAVED > 5 AND BEST = 1
  UNION ALL
  SELECT 5, 'read again',
         CASE WHEN COALESCE(PAGES, 0) = 0
                THEN 'no page was read since counting by index began'
              WHEN AGAIN < 0.05 * PAGES
                THEN CONCAT('pages are rarely read again soon after their eviction: ',
                            FORMAT(AGAIN, 0), ' of ', FORMAT(PAGES, 0), ' pages read')
              ELSE CONCAT(FORMAT(100 * LEAST(AGAIN / PAGES, 1), 0), ' % of the ', FORMAT(PAGES, 0),
                          ' pages read had been evicted not long before; first comes ', TOP_NAME,
                          ' with ', FORMAT(TOP_AGAIN, 0), ' of ', FORMAT(TOP_PAGES, 0), ' pages') END,
         NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0.0
    FROM i
   WHERE N_ROWS > 0
)
SELECT PRIORITY, TOPIC, ADVICE, FROM_VALUE, TO_VALUE,
       ROUND(HIT_NOW, 3) AS HIT_PCT_NOW, ROUND(HIT_THEN, 3) AS HIT_PCT_THEN,
       ROUND(READS_NOW, 1) AS READS_PER_SECOND_NOW, ROUND(READS_THEN, 1) AS READS_PER_SECOND_THEN,
       CONFIDENCE
  FROM r
 ORDER BY PRIORITY, SAVED DESC, TOPIC, ADVICE;

SET SESSION sql_log_bin = @lru_report_log_bin;
