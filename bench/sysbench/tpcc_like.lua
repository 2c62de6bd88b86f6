-- Copyright (c) 2026, Sluice contributors.
-- GPLv2, see LICENSE.
--
-- A load like TPC-C: its nine tables, its five transactions in their shares (45, 43, 4, 4, 4 of
-- a hundred), its skewed choice of items and customers. It is no TPC-C: no think time, no
-- terminals, no foreign keys, statements as text, and an event is a transaction of any kind.
--
--   sysbench tpcc_like.lua --warehouses=10 create    tables and items
--   sysbench tpcc_like.lua --warehouses=10 --threads=2 fill
--   sysbench tpcc_like.lua --warehouses=10 --threads=16 run

sysbench.cmdline.options = {
  warehouses = { "Warehouses, about 90 MB each", 1 },
  items = { "Items, and stock of each warehouse", 100000 },
  customers = { "Customers, and orders at first, of each of a warehouse's ten districts", 3000 },
}

local DISTRICTS = 10
local BATCH = 500 -- rows of an INSERT when filling
local uniform, text = sysbench.rand.uniform, sysbench.rand.string

-- TPC-C's non-uniform choice of x .. y. The constants may be any; 2.1.6 wants those of the run to
-- differ from those of the load for last names.
local function non_uniform(a, x, y)
  return bit.bor(uniform(0, a), uniform(x, y)) % (y - x + 1) + x
end

local SYLLABLES = { "BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING" }

local function last_name(number)
  return SYLLABLES[math.floor(number / 100) % 10 + 1] .. SYLLABLES[math.floor(number / 10) % 10 + 1]
    .. SYLLABLES[number % 10 + 1]
end

local function letters(count)
  return text(string.rep("@", count))
end

-- Last names are numbered to 999; with fewer customers, as many names as there are for certain.
local function names()
  return math.min(1000, sysbench.opt.customers)
end

local TABLES = {
  [[item (i_id INT NOT NULL, i_im_id INT NOT NULL, i_name VARCHAR(24) NOT NULL,
    i_price DECIMAL(5,2) NOT NULL, i_data VARCHAR(50) NOT NULL, PRIMARY KEY (i_id))]],
  [[warehouse (w_id SMALLINT NOT NULL, w_name VARCHAR(10), w_street VARCHAR(20), w_city VARCHAR(20),
    w_zip CHAR(9), w_tax DECIMAL(4,4) NOT NULL, w_ytd DECIMAL(12,2) NOT NULL, PRIMARY KEY (w_id))]],
  [[district (d_w_id SMALLINT NOT NULL, d_id TINYINT NOT NULL, d_name VARCHAR(10), d_street VARCHAR(20),
    d_city VARCHAR(20), d_zip CHAR(9), d_tax DECIMAL(4,4) NOT NULL, d_ytd DECIMAL(12,2) NOT NULL,
    d_next_o_id INT NOT NULL, PRIMARY KEY (d_w_id, d_id))]],
  [[customer (c_w_id SMALLINT NOT NULL, c_d_id TINYINT NOT NULL, c_id INT NOT NULL, c_first VARCHAR(16),
    c_middle CHAR(2), c_last VARCHAR(16), c_street VARCHAR(20), c_city VARCHAR(20), c_zip CHAR(9),
    c_phone CHAR(16), c_since DATETIME, c_credit CHAR(2), c_credit_lim DECIMAL(12,2),
    c_discount DECIMAL(4,4), c_balance DECIMAL(12,2), c_ytd_payment DECIMAL(12,2), c_payment_cnt INT,
    c_delivery_cnt INT, c_data VARCHAR(500), PRIMARY KEY (c_w_id, c_d_id, c_id),
    KEY by_name (c_w_id, c_d_id, c_last, c_first))]],
  [[history (h_id BIGINT NOT NULL AUTO_INCREMENT, h_c_id INT, h_c_d_id TINYINT, h_c_w_id SMALLINT,
    h_d_id TINYINT, h_w_id SMALLINT, h_date DATETIME, h_amount DECIMAL(6,2), h_data VARCHAR(24),
    PRIMARY KEY (h_id))]],
  [[orders (o_w_id SMALLINT NOT NULL, o_d_id TINYINT NOT NULL, o_id INT NOT NULL, o_c_id INT NOT NULL,
    o_entry_d DATETIME, o_carrier_id TINYINT, o_ol_cnt TINYINT NOT NULL, o_all_local TINYINT NOT NULL,
    PRIMARY KEY (o_w_id, o_d_id, o_id), KEY by_customer (o_w_id, o_d_id, o_c_id, o_id))]],
  [[new_orders (no_w_id SMALLINT NOT NULL, no_d_id TINYINT NOT NULL, no_o_id INT NOT NULL,
    PRIMARY KEY (no_w_id, no_d_id, no_o_id))]],
  [[order_line (ol_w_id SMALLINT NOT NULL, ol_d_id TINYINT NOT NULL, ol_o_id INT NOT NULL,
    ol_number TINYINT NOT NULL, ol_i_id INT NOT NULL, ol_supply_w_id SMALLINT, ol_delivery_d DATETIME,
    ol_quantity TINYINT, ol_amount DECIMAL(6,2), ol_dist_info CHAR(24),
    PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number))]],
  [[stock (s_w_id SMALLINT NOT NULL, s_i_id INT NOT NULL, s_quantity SMALLINT NOT NULL,
    s_dist_01 CHAR(24), s_dist_02 CHAR(24), s_dist_03 CHAR(24), s_dist_04 CHAR(24), s_dist_05 CHAR(24),
    s_dist_06 CHAR(24), s_dist_07 CHAR(24), s_dist_08 CHAR(24), s_dist_09 CHAR(24), s_dist_10 CHAR(24),
    s_ytd DECIMAL(8,0) NOT NULL, s_order_cnt SMALLINT NOT NULL, s_remote_cnt SMALLINT NOT NULL,
    s_data VARCHAR(50), PRIMARY KEY (s_w_id, s_i_id))]],
}

-- The tables and their rows

-- Inserts the rows that make(number) gives, "(...)", for first .. last.
local function insert(into, first, last, make)
  local rows = {}
  for number = first, last do
    rows[#rows + 1] = make(number)
    if #rows == BATCH or number == last then
      con:query("INSERT INTO " .. into .. " VALUES " .. table.concat(rows, ","))
      rows = {}
    end
  end
end

local function insert_all(into, rows)
  insert(into, 1, #rows, function(number) return rows[number] end)
end

local function create()
  con = sysbench.sql.driver():connect()
  for _, definition in ipairs(TABLES) do
    con:query("CREATE TABLE " .. definition .. " ENGINE=InnoDB")
  end
  insert("item", 1, sysbench.opt.items, function(id)
    return string.format("(%d,%d,'%s',%.2f,'%s')", id, uniform(1, 10000), letters(18),
      uniform(100, 10000) / 100, letters(38))
  end)
end

local function address()
  return string.format("'%s','%s','%s','%s'", letters(8), letters(15), letters(15), text("####11111"))
end

local function fill_district(w, d)
  local customers = sysbench.opt.customers
  insert("customer", 1, customers, function(c)
    local name = c <= names() and c - 1 or non_uniform(255, 0, names() - 1)
    return string.format(
      "(%d,%d,%d,'%s','OE','%s','%s','%s','%s','%s',NOW(),'%s',50000,%.4f,-10,10,1,0,'%s')", w, d, c,
      letters(12), last_name(name), letters(15), letters(15), text("####11111"),
      text("################"), uniform(1, 10) == 1 and "BC" or "GC", uniform(0, 5000) / 10000,
      letters(uniform(300, 500)))
  end)
  insert("history (h_c_id,h_c_d_id,h_c_w_id,h_d_id,h_w_id,h_date,h_amount,h_data)", 1, customers,
    function(c)
      return string.format("(%d,%d,%d,%d,%d,NOW(),10,'%s')", c, d, w, d, w, letters(18))
    end)
  -- Each customer has one order at first, in any order; the last three tenths are not delivered.
  local who = {}
  for c = 1, customers do who[c] = c end
  for c = customers, 2, -1 do
    local other = uniform(1, c)
    who[c], who[other] = who[other], who[c]
  end
  local orders, lines, new = {}, {}, {}
  for o = 1, customers do
    local delivered = o <= customers * 7 / 10
    local count = uniform(5, 15)
    orders[o] = string.format("(%d,%d,%d,%d,NOW(),%s,%d,1)", w, d, o, who[o],
      delivered and uniform(1, 10) or "NULL", count)
    if not delivered then new[#new + 1] = string.format("(%d,%d,%d)", w, d, o) end
    for number = 1, count do
      lines[#lines + 1] = string.format("(%d,%d,%d,%d,%d,%d,%s,5,%.2f,'%s')", w, d, o, number,
        uniform(1, sysbench.opt.items), w, delivered and "NOW()" or "NULL",
        delivered and 0 or uniform(1, 999999) / 100, letters(24))
    end
  end
  insert_all("orders", orders)
  insert_all("new_orders", new)
  insert_all("order_line", lines)
end

-- A thread fills the warehouses whose numbers it meets in steps of the threads.
local function fill()
  con = sysbench.sql.driver():connect()
  for w = sysbench.tid % sysbench.opt.threads + 1, sysbench.opt.warehouses, sysbench.opt.threads do
    con:query(string.format("INSERT INTO warehouse VALUES (%d,'%s',%s,%.4f,300000)", w, letters(8),
      address():match("^'[^']*',(.*)$"), uniform(0, 2000) / 10000))
    insert("stock", 1, sysbench.opt.items, function(i)
      local places = {}
      for place = 1, 10 do places[place] = "'" .. letters(24) .. "'" end
      return string.format("(%d,%d,%d,%s,0,0,0,'%s')", w, i, uniform(10, 100),
        table.concat(places, ","), letters(38))
    end)
    for d = 1, DISTRICTS do
      con:query(string.format("INSERT INTO district VALUES (%d,%d,%s,%.4f,30000,%d)", w, d, address(),
        uniform(0, 2000) / 10000, sysbench.opt.customers + 1))
      fill_district(w, d)
    end
  end
end

sysbench.cmdline.commands = {
  create = { create },
  fill = { fill, sysbench.cmdline.PARALLEL_COMMAND },
}

-- The transactions

local function rows(...)
  return con:query(string.format(...))
end

local function row(...)
  return rows(...):fetch_row()
end

local function other_warehouse(w)
  if sysbench.opt.warehouses == 1 then return w end
  local other = uniform(1, sysbench.opt.warehouses - 1)
  return other < w and other or other + 1
end

local function any_customer()
  return non_uniform(1023, 1, sysbench.opt.customers)
end

-- By name in six of ten cases: the middle one of those that have it.
local function find_customer(w, d)
  if uniform(1, 100) > 60 then return any_customer() end
  local found = rows([[SELECT c_id FROM customer WHERE c_w_id=%d AND c_d_id=%d AND c_last='%s'
    ORDER BY c_first]], w, d, last_name(non_uniform(255, 0, names() - 1)))
  local id
  for _ = 1, math.ceil(tonumber(found.nrows) / 2) do id = tonumber(found:fetch_row()[1]) end
  return id
end

local function new_order(w)
  local d, c, count = uniform(1, DISTRICTS), any_customer(), uniform(5, 15)
  -- One of a hundred asks for an item that there is not, and is rolled back.
  local fails = uniform(1, 100) == 1
  local lines, local_only = {}, 1
  for number = 1, count do
    local from = uniform(1, 100) == 1 and other_warehouse(w) or w
    if from ~= w then local_only = 0 end
    lines[number] = { item = non_uniform(8191, 1, sysbench.opt.items), from = from,
      quantity = uniform(1, 10) }
  end
  -- Stock in one order, so that fewer deadlock.
  table.sort(lines, function(a, b)
    return a.from < b.from or a.from == b.from and a.item < b.item
  end)
  if fails then lines[count].item = sysbench.opt.items + 1 end

  con:query("BEGIN")
  row([[SELECT c_discount, c_last, c_credit, w_tax FROM customer, warehouse
    WHERE w_id=%d AND c_w_id=w_id AND c_d_id=%d AND c_id=%d]], w, d, c)
  local o = tonumber(row([[SELECT d_next_o_id, d_tax FROM district WHERE d_w_id=%d AND d_id=%d
    FOR UPDATE]], w, d)[1])
  rows("UPDATE district SET d_next_o_id=%d WHERE d_w_id=%d AND d_id=%d", o + 1, w, d)
  rows("INSERT INTO orders VALUES (%d,%d,%d,%d,NOW(),NULL,%d,%d)", w, d, o, c, count, local_only)
  rows("INSERT INTO new_orders VALUES (%d,%d,%d)", w, d, o)
  for number, line in ipairs(lines) do
    local item = row("SELECT i_price, i_name, i_data FROM item WHERE i_id=%d", line.item)
    if not item then
      con:query("ROLLBACK")
      return
    end
    local stock = row([[SELECT s_quantity, s_data, s_dist_%02d FROM stock
      WHERE s_w_id=%d AND s_i_id=%d FOR UPDATE]], d, line.from, line.item)
    local quantity = tonumber(stock[1]) - line.quantity
    if quantity < 10 then quantity = quantity + 91 end
    rows([[UPDATE stock SET s_quantity=%d, s_ytd=s_ytd+%d, s_order_cnt=s_order_cnt+1,
      s_remote_cnt=s_remote_cnt+%d WHERE s_w_id=%d AND s_i_id=%d]], quantity, line.quantity,
      line.from == w and 0 or 1, line.from, line.item)
    rows("INSERT INTO order_line VALUES (%d,%d,%d,%d,%d,%d,NULL,%d,%.2f,'%s')", w, d, o, number,
      line.item, line.from, line.quantity, line.quantity * tonumber(item[1]), stock[3])
  end
  con:query("COMMIT")
end

local function payment(w)
  local d, amount = uniform(1, DISTRICTS), uniform(100, 500000) / 100
  local c_w, c_d = w, d
  if uniform(1, 100) > 85 then c_w, c_d = other_warehouse(w), uniform(1, DISTRICTS) end
  con:query("BEGIN")
  rows("UPDATE warehouse SET w_ytd=w_ytd+%.2f WHERE w_id=%d", amount, w)
  row("SELECT w_street, w_city, w_zip, w_name FROM warehouse WHERE w_id=%d", w)
  rows("UPDATE district SET d_ytd=d_ytd+%.2f WHERE d_w_id=%d AND d_id=%d", amount, w, d)
  row("SELECT d_street, d_city, d_zip, d_name FROM district WHERE d_w_id=%d AND d_id=%d", w, d)
  local c = find_customer(c_w, c_d)
  local customer = row([[SELECT c_credit, c_first, c_last, c_street, c_city, c_zip, c_phone,
    c_credit_lim, c_discount, c_balance, c_since FROM customer
    WHERE c_w_id=%d AND c_d_id=%d AND c_id=%d FOR UPDATE]], c_w, c_d, c)
  local more = ""
  if customer[1] == "BC" then
    more = string.format(", c_data=LEFT(CONCAT('%d %d %d %d %d %.2f | ', c_data), 500)", c, c_d, c_w,
      d, w, amount)
  end
  rows([[UPDATE customer SET c_balance=c_balance-%.2f, c_ytd_payment=c_ytd_payment+%.2f,
    c_payment_cnt=c_payment_cnt+1%s WHERE c_w_id=%d AND c_d_id=%d AND c_id=%d]], amount, amount,
    more, c_w, c_d, c)
  rows([[INSERT INTO history (h_c_id,h_c_d_id,h_c_w_id,h_d_id,h_w_id,h_date,h_amount,h_data)
    VALUES (%d,%d,%d,%d,%d,NOW(),%.2f,'a payment')]], c, c_d, c_w, d, w, amount)
  con:query("COMMIT")
end

local function order_status(w)
  local d = uniform(1, DISTRICTS)
  con:query("BEGIN")
  local c = find_customer(w, d)
  row([[SELECT c_balance, c_first, c_middle, c_last FROM customer
    WHERE c_w_id=%d AND c_d_id=%d AND c_id=%d]], w, d, c)
  local last = row([[SELECT o_id, o_carrier_id, o_entry_d FROM orders
    WHERE o_w_id=%d AND o_d_id=%d AND o_c_id=%d ORDER BY o_id DESC LIMIT 1]], w, d, c)
  rows([[SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line
    WHERE ol_w_id=%d AND ol_d_id=%d AND ol_o_id=%d]], w, d, tonumber(last[1]))
  con:query("COMMIT")
end

local function delivery(w)
  local carrier = uniform(1, 10)
  con:query("BEGIN")
  for d = 1, DISTRICTS do
    local oldest = row([[SELECT no_o_id FROM new_orders WHERE no_w_id=%d AND no_d_id=%d
      ORDER BY no_o_id LIMIT 1 FOR UPDATE]], w, d)
    if oldest then
      local o = tonumber(oldest[1])
      rows("DELETE FROM new_orders WHERE no_w_id=%d AND no_d_id=%d AND no_o_id=%d", w, d, o)
      local c = row("SELECT o_c_id FROM orders WHERE o_w_id=%d AND o_d_id=%d AND o_id=%d", w, d, o)[1]
      rows("UPDATE orders SET o_carrier_id=%d WHERE o_w_id=%d AND o_d_id=%d AND o_id=%d", carrier, w,
        d, o)
      rows([[UPDATE order_line SET ol_delivery_d=NOW()
        WHERE ol_w_id=%d AND ol_d_id=%d AND ol_o_id=%d]], w, d, o)
      local sum = row([[SELECT SUM(ol_amount) FROM order_line
        WHERE ol_w_id=%d AND ol_d_id=%d AND ol_o_id=%d]], w, d, o)[1]
      rows([[UPDATE customer SET c_balance=c_balance+%s, c_delivery_cnt=c_delivery_cnt+1
        WHERE c_w_id=%d AND c_d_id=%d AND c_id=%d]], sum, w, d, tonumber(c))
    end
  end
  con:query("COMMIT")
end

local function stock_level(w)
  local d = uniform(1, DISTRICTS)
  con:query("BEGIN")
  local next = tonumber(row("SELECT d_next_o_id FROM district WHERE d_w_id=%d AND d_id=%d", w, d)[1])
  row([[SELECT COUNT(DISTINCT s_i_id) FROM order_line JOIN stock ON s_w_id=%d AND s_i_id=ol_i_id
    WHERE ol_w_id=%d AND ol_d_id=%d AND ol_o_id BETWEEN %d AND %d AND s_quantity<%d]], w, w, d,
    next - 20, next - 1, uniform(10, 20))
  con:query("COMMIT")
end

function thread_init()
  con = sysbench.sql.driver():connect()
  -- A client has a warehouse of its own as long as there are enough.
  home = sysbench.tid % sysbench.opt.warehouses + 1
end

function thread_done()
  con:disconnect()
end

-- After a deadlock, before the event is begun again.
function sysbench.hooks.before_restart_event()
  con:query("ROLLBACK")
end

function event()
  local share = uniform(1, 100)
  if share <= 45 then new_order(home)
  elseif share <= 88 then payment(home)
  elseif share <= 92 then order_status(home)
  elseif share <= 96 then delivery(home)
  else stock_level(home)
  end
end
