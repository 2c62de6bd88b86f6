-- Copyright (c) 2026, Sluice contributors.
-- GPLv2, see LICENSE.
-- The loads of lru_lab for a server. Point selects of rows of sbtest1, or updates, or none; beside
-- them, if scan_chunk is set, the rows of sbtest2 one chunk after the other;
-- if insert_every is set, new rows of sbtest3.

sysbench.cmdline.options = {
  load = {"pareto, zipf, uniform, or none: only the scan", "pareto"},
  rows = {"Rows of sbtest1", 1},
  h = {"Parameter of pareto", 0.2},
  exponent = {"Exponent of zipf", 0.99},
  scatter = {"1: hot rows are scattered over the table", 0},
  scan_rows = {"Rows of sbtest2", 1},
  scan_chunk = {"Rows of it that a scan reads; 0: no scan", 0},
  scan_every = {"Point selects of a client for each of them", 50},
  scan_clients = {"Clients that scan, each from its own place on; 0: all", 0},
  scan_own = {"1: each client scans a part of its own, over and over", 0},
  move_s = {"The hot spot moves after so many seconds", 0},
  update = {"1: updates in place of selects", 0},
  insert_every = {"Ten rows go into sbtest3 after so many point selects; 0: none", 0}
}

-- Set when the options are known.
local opt

local function row_of()
  local n, u = opt.rows, sysbench.rand.uniform_double()
  local row
  if opt.load == "uniform" then
    row = math.floor(u * n)
  elseif opt.load == "zipf" then
    local rest = 1 - opt.exponent
    row = math.floor((((n + 1) ^ rest - 1) * u + 1) ^ (1 / rest) - 1)
  else
    row = math.floor(n * u ^ (math.log(opt.h) / math.log(1 - opt.h)))
  end
  row = math.min(row, n - 1)
  if opt.scatter == 1 then
    -- As lru_lab_loads.cc, in two steps, as a number has 53 bits.
    local high, low = 2654435761 % n, 65536
    local a = math.floor(row / low)
    local b = row % low
    row = ((a * high % n) * low + b * high) % n
  end
  if opt.move_s > 0 then
    local k = math.floor(os.time() / opt.move_s)
    row = (row + k * 2654435761 % n) % n
  end
  return row + 1
end

function thread_init()
  opt = sysbench.opt
  connection = sysbench.sql.driver():connect()
  local int = sysbench.sql.type.INT
  point = connection:prepare(opt.update == 1 and
    "UPDATE sbtest1 SET c = REVERSE(c) WHERE id = ?" or "SELECT c FROM sbtest1 WHERE id = ?")
  id = point:bind_create(int)
  point:bind_param(id)
  scans = opt.scan_chunk > 0 and
    (opt.scan_clients == 0 or sysbench.tid < opt.scan_clients)
  if scans then
    scan = connection:prepare("SELECT SUM(LENGTH(c)) FROM sbtest2 WHERE id BETWEEN ? AND ?")
    low = scan:bind_create(int)
    high = scan:bind_create(int)
    scan:bind_param(low, high)
    position = math.floor(opt.scan_rows / opt.threads * sysbench.tid)
    first, after = 0, opt.scan_rows
    if opt.scan_own == 1 then
      first = position
      after = math.floor(opt.scan_rows / opt.threads * (sysbench.tid + 1))
    end
  end
  if opt.insert_every > 0 then
    local row = "(1, '" .. string.rep("c", 119) .. "', '" .. string.rep("p", 59) .. "')"
    insert = "INSERT INTO sbtest3 (k, c, pad) VALUES " .. string.rep(row .. ",", 9) .. row
  end
  n = 0
end

function event()
  if opt.load ~= "none" then
    id:set(row_of())
    point:execute()
  end
  n = n + 1
  if scans and n % opt.scan_every == 0 then
    low:set(position + 1)
    high:set(math.min(position + opt.scan_chunk, after))
    scan:execute()
    position = position + opt.scan_chunk
    if position >= after then
      position = first + position - after
    end
  end
  if opt.insert_every > 0 and n % opt.insert_every == 0 then
    connection:query(insert)
  end
end

function thread_done()
  connection:disconnect()
end
