/* Copyright (c) 2026, Sluice contributors.

   This program is free software; you can redistribute it and/or modify
   it under the terms of the GNU General Public License, version 2.0,
   as published by the Free Software Foundation.

   This program is distributed in the hope that it will be useful,
   but WITHOUT ANY WARRANTY; without even the implied warranty of
   MERCHANTABILITY or FITNESS FOR A PARTICULAR PURPOSE.  See the
   GNU General Public License, version 2.0, for more details.

   You should have received a copy of the GNU General Public License
   along with this program; if not, write to the Free Software
   Foundation, Inc., 51 Franklin St, Fifth Floor, Boston, MA 02110-1301  USA */

/**
  @file sql/lock_wait_error.cc
  The text of ER_LOCK_WAIT_TIMEOUT.
*/

#include "sql/lock_wait_error.h"

#ifdef __GLIBC__
#include <malloc.h>  // mallopt
#endif
#include <stdio.h>
#include <string.h>

#include <string>
#include <string_view>

#include "lex_string.h"
#include "my_dbug.h"
#include "my_systime.h"  // my_sleep
#include "mysql_com.h"   // MYSQL_ERRMSG_SIZE
#include "mysqld_error.h"
#include "sql/current_thd.h"
#include "sql/debug_sync.h"
#include "sql/derror.h"  // ER_THD
#include "sql/lock_wait_privileges.h"
#include "sql/mdl.h"
#include "sql/mdl_context_backup.h"
#include "sql/mdl_lock_timeout.h"
#include "sql/sql_class.h"
#include "sql/sql_error.h"
#include "sql/system_variables.h"
#include "sql/table.h"
#ifdef WITH_PERFSCHEMA_STORAGE_ENGINE
#include "storage/perfschema/pfs_metadata_lock_owner.h"
#endif

bool opt_lock_wait_timeout_details{true};

namespace {

constexpr const char *VARIABLE_NAME = "metadata_lock_wait_timeout";

/** Characters that SIGNAL and performance_schema accept as MESSAGE_TEXT. */
constexpr size_t MAX_MESSAGE_TEXT{128};
constexpr const char ELLIPSIS[] = "...";

thread_local int own_timeout_depth{0};

/** What a storage engine said about its last lock wait timeout. */
struct Engine_wait {
  const char *variable{nullptr};
  ulonglong seconds{0};
  query_id_t query_id{0};
};
thread_local Engine_wait engine_wait;

/** Names as in performance_schema.metadata_locks.LOCK_TYPE. */
const char *mdl_type_name(enum_mdl_type type) {
  switch (type) {
    case MDL_INTENTION_EXCLUSIVE:
      return "INTENTION_EXCLUSIVE";
    case MDL_SHARED:
      return "SHARED";
    case MDL_SHARED_HIGH_PRIO:
      return "SHARED_HIGH_PRIO";
    case MDL_SHARED_READ:
      return "SHARED_READ";
    case MDL_SHARED_WRITE:
      return "SHARED_WRITE";
    case MDL_SHARED_WRITE_LOW_PRIO:
      return "SHARED_WRITE_LOW_PRIO";
    case MDL_SHARED_UPGRADABLE:
      return "SHARED_UPGRADABLE";
    case MDL_SHARED_READ_ONLY:
      return "SHARED_READ_ONLY";
    case MDL_SHARED_NO_WRITE:
      return "SHARED_NO_WRITE";
    case MDL_SHARED_NO_READ_WRITE:
      return "SHARED_NO_READ_WRITE";
    case MDL_EXCLUSIVE:
      return "EXCLUSIVE";
    case MDL_TYPE_END:
      break;
  }
  assert(false);
  return "unknown";
}

/** What an object of a namespace is called. */
struct Object_kind {
  /** With article, when the name is not given or there is none. */
  const char *unnamed;
  /** Before the name, nullptr if there is none. */
  const char *named;
};

Object_kind object_kind(MDL_key::enum_mdl_namespace mdl_namespace) {
  switch (mdl_namespace) {
    case MDL_key::GLOBAL:
      return {"the global read lock", nullptr};
    case MDL_key::BACKUP_LOCK:
      return {"the backup lock", nullptr};
    case MDL_key::TABLESPACE:
      return {"a tablespace", "tablespace"};
    case MDL_key::SCHEMA:
      return {"a schema", "schema"};
    case MDL_key::TABLE:
      return {"a table", "table"};
    case MDL_key::FUNCTION:
      return {"a function", "function"};
    case MDL_key::PROCEDURE:
      return {"a procedure", "procedure"};
    case MDL_key::TRIGGER:
      return {"a trigger", "trigger"};
    case MDL_key::EVENT:
      return {"an event", "event"};
    case MDL_key::COMMIT:
      return {"the commit lock", nullptr};
    case MDL_key::SRID:
      return {"a spatial reference system", "spatial reference system"};
    case MDL_key::ACL_CACHE:
      return {"the access control cache", nullptr};
    case MDL_key::COLUMN_STATISTICS:
      /* A user who may see the table need not know of the column. */
      return {"column statistics", "column statistics of"};
    case MDL_key::RESOURCE_GROUPS:
      return {"a resource group", "resource group"};
    case MDL_key::FOREIGN_KEY:
      return {"a foreign key", "foreign key"};
    case MDL_key::CHECK_CONSTRAINT:
      return {"a check constraint", "check constraint"};
    case MDL_key::LIBRARY:
      return {"a library", "library"};
    case MDL_key::USER_LEVEL_LOCK:
    case MDL_key::LOCKING_SERVICE:
      /* Have an error of their own. */
    case MDL_key::NAMESPACE_END:
      break;
  }
  assert(false);
  return {"an object", nullptr};
}

constexpr Object_kind TABLE_KIND{"a table", "table"};

bool is_first_byte(char c) { return (c & 0xC0) != 0x80; }

/** Number of characters of a text in UTF-8. */
size_t count_characters(std::string_view text) {
  size_t count = 0;
  for (const char c : text) count += is_first_byte(c) ? 1 : 0;
  return count;
}

/**
  How long a wait could be, in words.

  @param before    What comes before the time.
  @param variable  Which governs it, nullptr if none does.
  @param seconds   Seconds allowed.
*/
std::string limit(const char *before, const char *variable, ulonglong seconds) {
  if (seconds == 0) return " not granted at once";
  std::string text(" ");
  text.append(before).append(" ");
  if (variable != nullptr) text.append(variable).append("=");
  text.append(std::to_string(seconds));
  return text.append(seconds == 1 ? " second" : " seconds");
}

/** The same in short. */
std::string short_limit(const char *variable, ulonglong seconds) {
  if (seconds == 0) return "no wait allowed";
  std::string text(variable != nullptr ? variable : "timeout");
  return text.append("=").append(std::to_string(seconds));
}

/**
  Append what is most needed to upstream's text, within MAX_MESSAGE_TEXT
  characters. If there is not enough room for both, only the connection in the
  way is told. If there is no room for that, upstream's text, a long
  translation, is cut.

  @param text     Upstream's text, in the language of the session.
  @param limit    Variable and value.
  @param blocker  Who is in the way, empty if that is not known.
*/
std::string error_text(std::string text, const std::string &limit,
                       const std::string &blocker) {
  constexpr size_t PARENTHESES{3};
  const size_t length = count_characters(text);
  std::string details = blocker.empty() ? limit : limit + "; " + blocker;
  if (length + PARENTHESES + details.length() > MAX_MESSAGE_TEXT &&
      !blocker.empty())
    details = blocker;

  DBUG_EXECUTE_IF("mutate_1205_length",
                  { return text + " (" + details + ")"; });
  if (length + PARENTHESES + details.length() > MAX_MESSAGE_TEXT) {
    size_t room = MAX_MESSAGE_TEXT - PARENTHESES - details.length() -
                  (sizeof(ELLIPSIS) - 1);
    size_t end = 0;
    while (end < text.length() && (!is_first_byte(text[end]) || room-- > 0))
      ++end;
    text.resize(end);
    text.append(ELLIPSIS);
  }
  return text.append(" (").append(details).append(")");
}

/**
  The Note in the making: a beginning, the name of an object, which gives way
  if there is not enough room for everything, and an end.
*/
class Note {
 public:
  Note &head(std::string_view text) {
    m_head.append(text);
    return *this;
  }

  Note &tail(std::string_view text) {
    m_tail.append(text);
    return *this;
  }

  /** Kind and name of the object; empty parts of the name are left out. */
  Note &object(const Object_kind &kind, const char *part1 = "",
               const char *part2 = "") {
    for (const char *part : {part1, part2}) {
      if (*part == '\0') continue;
      if (!m_name.empty()) m_name.append(".");
      m_name.append(part);
    }
    if (kind.named == nullptr || m_name.empty()) {
      m_name.clear();
      head(kind.unnamed);
    } else {
      head(kind.named).head(" '");
      m_tail.insert(0, "'");
    }
    return *this;
  }

  /** A table by its name if the user may see it. */
  Note &table(THD *thd, const char *db, const char *name) {
    return lock_wait_may_see_name(thd, MDL_key::TABLE, db, name)
               ? object(TABLE_KIND, db, name)
               : object(TABLE_KIND);
  }

  std::string text() {
    constexpr size_t MAX_LENGTH = MYSQL_ERRMSG_SIZE - 1;
    const size_t rest = m_head.length() + m_tail.length();
    if (rest + m_name.length() > MAX_LENGTH) {
      size_t length = MAX_LENGTH - rest - (sizeof(ELLIPSIS) - 1);
      while (length > 0 && !is_first_byte(m_name[length])) --length;
      m_name.resize(length);
      m_name.append(ELLIPSIS);
    }
    return m_head + m_name + m_tail;
  }

 private:
  std::string m_head;
  std::string m_name;
  std::string m_tail;
};

/**
  Raise ER_LOCK_WAIT_TIMEOUT and add a Note.

  The Note comes after the error, which stays condition 1. It must not activate
  a handler of a stored program, now or when the error has been handled. So its
  number is one for which nobody declares a handler (EXPLAIN uses it in the
  same way), and its SQLSTATE one for which nobody can.
*/
void raise(THD *thd, const std::string &text, Note *note, myf errflag) {
  my_printf_error(ER_LOCK_WAIT_TIMEOUT, "%s", errflag, text.c_str());

  DBUG_EXECUTE_IF("mutate_1205_note", return;);
  if ((thd->variables.option_bits & OPTION_SQL_NOTES) == 0) return;
  /*
    Some callers catch the error to return something else. No internal handler
    is asked about the Note: they have seen the error.
  */
  Diagnostics_area *da = thd->get_stmt_da();
  if (!da->is_error() || da->mysql_errno() != ER_LOCK_WAIT_TIMEOUT ||
      text != da->message_text())
    return;
  const char *sqlstate = "00000";
  DBUG_EXECUTE_IF("mutate_1205_sqlstate", sqlstate = "HY000";);
  da->push_warning(thd, ER_YES, sqlstate, Sql_condition::SL_NOTE,
                   note->text().c_str());
}

/** Is this wait governed by @@session.lock_wait_timeout? */
bool is_governed_by_variable(const THD *thd, Timeout_type timeout) {
  DBUG_EXECUTE_IF("mutate_own_timeout",
                  return timeout == thd->variables.lock_wait_timeout;);
  return own_timeout_depth == 0 && timeout == thd->variables.lock_wait_timeout;
}

bool has_details(const THD *thd) {
  return opt_lock_wait_timeout_details && thd != nullptr && thd == current_thd;
}

class Mdl_reporter : public MDL_timeout_reporter {
 public:
  Mdl_reporter() { mdl_timeout_reporter = this; }

  bool is_enabled() const override {
    DBUG_EXECUTE_IF("mutate_search_with_switch_off", return true;);
    return opt_lock_wait_timeout_details;
  }

  unsigned long connection_id(const THD *thd) const override {
    return thd->thread_id();
  }

  void find_fast_path_owner(const MDL_key &key, unsigned types,
                            MDL_blocker *blocker) const override;

  void report(MDL_context_owner *owner, const MDL_key &key, enum_mdl_type type,
              Timeout_type timeout, const MDL_blocker &blocker) const override;
};

/**
  Find a lock of a prepared XA transaction without a connection. The performance
  schema has such a lock, with the thread that took it and owns it no more.

  @param key    Object.
  @param types  Bitmap of types of locks.

  @return type of the strongest lock found, SHARED_WRITE also for its variant of
  low priority; MDL_TYPE_END if there is none.
*/
enum_mdl_type find_prepared_xa_lock(const MDL_key &key, unsigned types) {
  DBUG_EXECUTE_IF("mutate_1205_prepared_xa", return MDL_TYPE_END;);
  for (const auto type : {MDL_SHARED_WRITE, MDL_SHARED_READ, MDL_SHARED,
                          MDL_INTENTION_EXCLUSIVE}) {
    if ((types & (1U << type)) != 0 &&
        MDL_context_backup_manager::instance().any_context(
            [&key, type](MDL_context *context) {
              return context->owns_equal_or_stronger_lock(&key, type);
            }))
      return type;
  }
  return MDL_TYPE_END;
}

void Mdl_reporter::find_fast_path_owner(const MDL_key &key, unsigned types,
                                        MDL_blocker *blocker) const {
  const enum_mdl_type xa_type = find_prepared_xa_lock(key, types);
  if (xa_type != MDL_TYPE_END) {
    blocker->kind = MDL_blocker::HOLDER;
    blocker->type = xa_type;
    blocker->owner = MDL_blocker::PREPARED_XA;
    return;
  }
#ifdef WITH_PERFSCHEMA_STORAGE_ENGINE
  /* The performance schema has a record of each lock, with the owner. */
  DBUG_EXECUTE_IF("mutate_fast_path_types", types &= (1U << MDL_SHARED) |
                                                     (1U << MDL_SHARED_READ) |
                                                     (1U << MDL_SHARED_WRITE););
  PFS_metadata_lock_owner owner;
  const bool found = pfs_find_metadata_lock_owner(key, types, &owner);
  DBUG_EXECUTE_IF(
      "count_mdl_owner_search",
      push_warning_printf(current_thd, Sql_condition::SL_WARNING, ER_YES,
                          "%lu records read", owner.records_read););
  if (!found) return;
  blocker->kind = MDL_blocker::HOLDER;
  blocker->type = static_cast<enum_mdl_type>(owner.type);
  blocker->connection_id = owner.processlist_id;
  blocker->owner = owner.processlist_id == 0 ? MDL_blocker::BACKGROUND_THREAD
                                             : MDL_blocker::CONNECTION;
#endif
}

/** Who is in the way, in the words of both the error and the Note. */
std::string owner_name(const MDL_blocker &blocker) {
  switch (blocker.owner) {
    case MDL_blocker::CONNECTION:
      return "connection " + std::to_string(blocker.connection_id);
    case MDL_blocker::BACKGROUND_THREAD:
      DBUG_EXECUTE_IF("mutate_background_thread",
                      return "a prepared XA transaction";);
      return "a background thread";
    case MDL_blocker::PREPARED_XA:
      return "a prepared XA transaction";
  }
  assert(false);
  return "";
}

void Mdl_reporter::report(MDL_context_owner *owner, const MDL_key &key,
                          enum_mdl_type type, Timeout_type timeout,
                          const MDL_blocker &blocker_arg) const {
  THD *thd = owner->get_thd();
  if (!has_details(thd)) {
    my_error(ER_LOCK_WAIT_TIMEOUT, MYF(0));
    return;
  }

  const MDL_key::enum_mdl_namespace mdl_namespace = key.mdl_namespace();
  const Object_kind kind = object_kind(mdl_namespace);
  Note note;
  note.head(mdl_type_name(type)).head(" metadata lock on ");

  if (kind.named != nullptr &&
      lock_wait_may_see_name(thd, mdl_namespace, key.db_name(), key.name()))
    note.object(kind, key.db_name(), key.name());
  else
    note.object(kind);

  /* The cache of privileges is locked with a timeout which nobody can set. */
  const char *variable = mdl_namespace != MDL_key::ACL_CACHE &&
                                 is_governed_by_variable(thd, timeout)
                             ? VARIABLE_NAME
                             : nullptr;
  MDL_blocker blocker = blocker_arg;
  DBUG_EXECUTE_IF("mutate_search_late", my_sleep(500000);
                  find_fast_path_owner(key, ~0U, &blocker););
  DBUG_EXECUTE_IF("longest_lock_wait_error", {
    timeout = 31536000;
    blocker.connection_id =
        blocker.owner == MDL_blocker::CONNECTION ? 4294967295UL : 0;
  });
  note.tail(limit("not granted within", variable, timeout));

  std::string in_the_way;
  switch (blocker.kind) {
    case MDL_blocker::NONE:
      break;
    case MDL_blocker::HOLDER:
      in_the_way = "held by " + owner_name(blocker);
      note.tail("; ").tail(in_the_way).tail(" as ");
      note.tail(mdl_type_name(blocker.type));
      break;
    case MDL_blocker::WAITER:
      in_the_way = "behind " + owner_name(blocker);
      note.tail("; queued ").tail(in_the_way).tail(" which waits for ");
      note.tail(mdl_type_name(blocker.type));
      break;
  }
  raise(thd,
        error_text(ER_THD(thd, ER_LOCK_WAIT_TIMEOUT),
                   short_limit(variable, timeout), in_the_way),
        &note, MYF(0));
}

/* Registers itself; mdl_timeout_reporter is constant-initialised. */
const Mdl_reporter mdl_reporter;

}  // namespace

Own_lock_wait_timeout_guard::Own_lock_wait_timeout_guard() {
  ++own_timeout_depth;
}

Own_lock_wait_timeout_guard::~Own_lock_wait_timeout_guard() {
  --own_timeout_depth;
}

void report_table_flush_timeout(THD *thd, const TABLE_SHARE *share) {
  DEBUG_SYNC(thd, "table_flush_timed_out");
#ifdef M_PERTURB
  /* Reports when called again, too late; freed memory is overwritten. */
  DBUG_EXECUTE_IF("mutate_1205_freed_share", {
    static thread_local bool is_late = true;
    is_late = !is_late;
    if (!is_late) {
      mallopt(M_PERTURB, 0xA5);
      return;
    }
  });
#endif
  if (!has_details(thd)) {
    my_error(ER_LOCK_WAIT_TIMEOUT, MYF(0));
    return;
  }
  const ulong timeout = thd->variables.lock_wait_timeout;
  Note note;
  note.table(thd, share->db.str, share->table_name.str)
      .tail(limit("still in use after", VARIABLE_NAME, timeout));
  raise(thd,
        error_text(ER_THD(thd, ER_LOCK_WAIT_TIMEOUT),
                   short_limit(VARIABLE_NAME, timeout), ""),
        &note, MYF(0));
}

void report_table_lock_error(THD *thd, int error, TABLE *const *tables,
                             size_t count, ulong timeout) {
  if (error != ER_LOCK_WAIT_TIMEOUT || !has_details(thd)) {
    my_error(error, MYF(0));
    return;
  }
  const char *variable =
      is_governed_by_variable(thd, timeout) ? VARIABLE_NAME : nullptr;
  Note note;
  note.head("table lock");
  if (count == 1) {
    const TABLE_SHARE *share = tables[0]->s;
    note.head(" on ").table(thd, share->db.str, share->table_name.str);
  }
  note.tail(limit("not granted within", variable, timeout));
  raise(thd,
        error_text(ER_THD(thd, ER_LOCK_WAIT_TIMEOUT),
                   short_limit(variable, timeout), ""),
        &note, MYF(0));
}

void note_engine_lock_timeout(const THD *thd, const char *variable,
                              ulonglong seconds) {
  if (thd == current_thd) engine_wait = {variable, seconds, thd->query_id};
}

void report_engine_lock_timeout(THD *thd, const char *lock, const char *db,
                                const char *table, myf errflag) {
  const Engine_wait wait = engine_wait;
  engine_wait = {};
  if (!has_details(thd) || wait.variable == nullptr ||
      wait.query_id != thd->query_id ||
      DBUG_EVALUATE_IF("mutate_engine_wait", true, false)) {
    my_error(ER_LOCK_WAIT_TIMEOUT, errflag);
    return;
  }
  Note note;
  note.head(lock).head(
      limit("not granted within", wait.variable, wait.seconds));
  /*
    The table in use; the lock may be on another one, in case of a foreign key.
  */
  if (db != nullptr && lock_wait_may_see_name(thd, MDL_key::TABLE, db, table))
    note.head("; ").object(TABLE_KIND, db, table);
  raise(thd,
        error_text(ER_THD(thd, ER_LOCK_WAIT_TIMEOUT),
                   short_limit(wait.variable, wait.seconds), ""),
        &note, errflag);
}
