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

#include <stdio.h>
#include <string.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "lex_string.h"
#include "mysql/strings/m_ctype.h"
#include "mysql_com.h"  // MYSQL_ERRMSG_SIZE
#include "mysqld_error.h"
#include "sql/auth/auth_acls.h"
#include "sql/auth/sql_security_ctx.h"
#include "sql/current_thd.h"
#include "sql/derror.h"  // ER_THD
#include "sql/mdl.h"
#include "sql/mdl_lock_timeout.h"
#include "sql/mysqld.h"   // table_alias_charset
#include "sql/sp_head.h"  // sp_name
#include "sql/sql_class.h"
#include "sql/sql_lex.h"
#include "sql/system_variables.h"
#include "sql/table.h"
#include "sql_string.h"
#ifdef WITH_PERFSCHEMA_STORAGE_ENGINE
#include "storage/perfschema/pfs_metadata_lock_owner.h"
#endif

bool opt_lock_wait_timeout_details{true};

namespace {

constexpr const char *VARIABLE_NAME = "metadata_lock_wait_timeout";

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

/** How an object of a namespace is called. */
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
    case MDL_key::USER_LEVEL_LOCK:
      return {"a user-level lock", nullptr};
    case MDL_key::LOCKING_SERVICE:
      return {"a locking service lock", nullptr};
    case MDL_key::SRID:
      return {"a spatial reference system", "spatial reference system"};
    case MDL_key::ACL_CACHE:
      return {"the access control cache", nullptr};
    case MDL_key::COLUMN_STATISTICS:
      return {"column statistics", "statistics of column"};
    case MDL_key::RESOURCE_GROUPS:
      return {"a resource group", "resource group"};
    case MDL_key::FOREIGN_KEY:
      return {"a foreign key", "foreign key"};
    case MDL_key::CHECK_CONSTRAINT:
      return {"a check constraint", "check constraint"};
    case MDL_key::LIBRARY:
      return {"a library", "library"};
    case MDL_key::NAMESPACE_END:
      break;
  }
  assert(false);
  return {"an object", nullptr};
}

bool same_name(const char *a, const char *b) {
  return my_strcasecmp(table_alias_charset, a, b) == 0;
}

/**
  May the name be told to the user?

  A statement also waits for objects whose names it does not contain: tables
  under a view, children and parents of foreign keys, what a trigger or a
  routine with the rights of its definer uses. Their names are told to those
  who could see them anyway. Privileges on single tables are not looked up:
  that means taking a lock and the error must not wait again.

  @param thd    Current session.
  @param db     Database of the object, or its name if it is one; not empty.
  @param table  Table, nullptr if the object is something else.
*/
bool may_see_name(THD *thd, const char *db, const char *table) {
  Security_context *sctx = thd->security_context();

  if (sctx->check_access(PROCESS_ACL) ||
      sctx->check_access(DB_OP_ACLS, db, true))
    return true;

  const LEX_CSTRING current_db = thd->db();
  if (current_db.str != nullptr && same_name(current_db.str, db) &&
      (sctx->current_db_access() & DB_OP_ACLS) != 0)
    return true;

  if (sctx->get_active_roles()->size() > 0 &&
      (sctx->db_acl({db, strlen(db)}) & DB_OP_ACLS) != 0)
    return true;

  /* The names in the statement itself. */
  const LEX *lex = thd->lex;
  for (const Table_ref *t = lex->query_tables; t != nullptr;
       t = t->next_global) {
    if (!t->prelocking_placeholder && t->belong_to_view == nullptr &&
        t->db != nullptr && same_name(t->db, db) &&
        (table == nullptr ||
         (t->table_name != nullptr && same_name(t->table_name, table))))
      return true;
  }
  if (table != nullptr) return false;

  if (lex->spname != nullptr && lex->spname->m_db.str != nullptr &&
      same_name(lex->spname->m_db.str, db))
    return true;
  return lex->name.str != nullptr && same_name(lex->name.str, db);
}

/**
  How long a wait could be.

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

/**
  The message in the making: a beginning, the name of an object, which gives
  way if there is not enough room for everything, and an end.
*/
class Message {
 public:
  explicit Message(THD *thd) {
    m_head.assign(ER_THD(thd, ER_LOCK_WAIT_TIMEOUT));
    m_head.append(" (");
  }

  Message &head(std::string_view text) {
    m_head.append(text);
    return *this;
  }

  Message &tail(std::string_view text) {
    m_tail.append(text);
    return *this;
  }

  /** Kind and name of the object; empty parts of the name are left out. */
  Message &object(const Object_kind &kind, const char *part1,
                  const char *part2 = "", const char *part3 = "") {
    for (const char *part : {part1, part2, part3}) {
      if (part == nullptr || *part == '\0') continue;
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

  /** Raise the error. */
  void raise(myf errflag = MYF(0)) {
    constexpr size_t max_length = MYSQL_ERRMSG_SIZE - 1;
    static const char ellipsis[] = "...";

    m_tail.append(")");
    const size_t rest = m_head.length() + m_tail.length();
    if (rest + m_name.length() > max_length) {
      if (rest + sizeof(ellipsis) - 1 > max_length) {
        /* No translation is as long as that. */
        assert(false);
        my_error(ER_LOCK_WAIT_TIMEOUT, errflag);
        return;
      }
      size_t length = max_length - rest - (sizeof(ellipsis) - 1);
      /* Do not cut a character: the text is in UTF-8. */
      while (length > 0 && (m_name[length] & 0xC0) == 0x80) --length;
      m_name.resize(length);
      m_name.append(ellipsis);
    }
    my_printf_error(ER_LOCK_WAIT_TIMEOUT, "%s%s%s", errflag, m_head.c_str(),
                    m_name.c_str(), m_tail.c_str());
  }

 private:
  std::string m_head;
  std::string m_name;
  std::string m_tail;
};

/** Is this wait governed by @@session.lock_wait_timeout? */
bool is_governed_by_variable(const THD *thd, Timeout_type timeout) {
  return own_timeout_depth == 0 && timeout == thd->variables.lock_wait_timeout;
}

bool has_details(const THD *thd) {
  return opt_lock_wait_timeout_details && thd != nullptr && thd == current_thd;
}

class Mdl_reporter : public MDL_timeout_reporter {
 public:
  Mdl_reporter() { mdl_timeout_reporter = this; }

  unsigned long connection_id(const THD *thd) const override {
    return thd->thread_id();
  }

  void report(MDL_context_owner *owner, const MDL_key &key, enum_mdl_type type,
              Timeout_type timeout, const MDL_blocker &blocker) const override;
};

void Mdl_reporter::report(MDL_context_owner *owner, const MDL_key &key,
                          enum_mdl_type type, Timeout_type timeout,
                          const MDL_blocker &blocker) const {
  THD *thd = owner->get_thd();
  if (!has_details(thd)) {
    my_error(ER_LOCK_WAIT_TIMEOUT, MYF(0));
    return;
  }

  const MDL_key::enum_mdl_namespace mdl_namespace = key.mdl_namespace();
  const Object_kind kind = object_kind(mdl_namespace);
  Message message(thd);
  message.head(mdl_type_name(type)).head(" metadata lock on ");

  bool show_name = kind.named != nullptr;
  if (show_name && key.db_name_length() > 0)
    show_name = may_see_name(thd, key.db_name(),
                             mdl_namespace == MDL_key::TABLE ||
                                     mdl_namespace == MDL_key::COLUMN_STATISTICS
                                 ? key.name()
                                 : nullptr);
  else if (mdl_namespace == MDL_key::TABLESPACE)
    /* The names of implicit tablespaces contain those of tables. */
    show_name = thd->security_context()->check_access(
        PROCESS_ACL | CREATE_TABLESPACE_ACL, "", true);

  if (show_name)
    message.object(
        kind, key.db_name(), key.name(),
        mdl_namespace == MDL_key::COLUMN_STATISTICS ? key.col_name() : "");
  else
    message.object(kind, "");

  /* The cache of privileges is locked with a timeout which nobody can set. */
  const char *variable = mdl_namespace != MDL_key::ACL_CACHE &&
                                 is_governed_by_variable(thd, timeout)
                             ? VARIABLE_NAME
                             : nullptr;
  message.tail(limit("not granted within", variable, timeout));

  unsigned long id = blocker.connection_id;
  int blocker_type = blocker.type;
  MDL_blocker::enum_kind blocker_kind = blocker.kind;
#ifdef WITH_PERFSCHEMA_STORAGE_ENGINE
  /*
    Locks of DML taken in the usual way are but a counter in the metadata lock
    subsystem. The performance schema knows who took them.
  */
  if (blocker.fast_path_types != 0 &&
      pfs_find_metadata_lock_owner(key, blocker.fast_path_types, &blocker_type,
                                   &id))
    blocker_kind = MDL_blocker::HOLDER;
#endif

  char buff[128];
  switch (blocker_kind) {
    case MDL_blocker::NONE:
      break;
    case MDL_blocker::HOLDER:
      if (id == 0)
        snprintf(buff, sizeof(buff),
                 "; held by a prepared XA transaction as %s",
                 mdl_type_name(static_cast<enum_mdl_type>(blocker_type)));
      else
        snprintf(buff, sizeof(buff), "; held by connection %lu as %s", id,
                 mdl_type_name(static_cast<enum_mdl_type>(blocker_type)));
      message.tail(buff);
      break;
    case MDL_blocker::WAITER:
      snprintf(buff, sizeof(buff),
               "; queued behind connection %lu which waits for %s", id,
               mdl_type_name(static_cast<enum_mdl_type>(blocker_type)));
      message.tail(buff);
      break;
  }
  message.raise();
}

/* Registers itself; mdl_timeout_reporter is constant-initialised. */
const Mdl_reporter mdl_reporter;

constexpr Object_kind TABLE_KIND{"a table", "table"};

}  // namespace

Own_lock_wait_timeout_guard::Own_lock_wait_timeout_guard() {
  ++own_timeout_depth;
}

Own_lock_wait_timeout_guard::~Own_lock_wait_timeout_guard() {
  --own_timeout_depth;
}

void report_table_flush_timeout(THD *thd, const TABLE_SHARE *share) {
  if (!has_details(thd)) {
    my_error(ER_LOCK_WAIT_TIMEOUT, MYF(0));
    return;
  }
  Message message(thd);
  if (may_see_name(thd, share->db.str, share->table_name.str))
    message.object(TABLE_KIND, share->db.str, share->table_name.str);
  else
    message.object(TABLE_KIND, "");
  message.tail(limit("still in use after", VARIABLE_NAME,
                     thd->variables.lock_wait_timeout));
  message.raise();
}

void report_table_lock_error(THD *thd, int error, TABLE *const *tables,
                             size_t count, ulong timeout) {
  if (error != ER_LOCK_WAIT_TIMEOUT || !has_details(thd)) {
    my_error(error, MYF(0));
    return;
  }
  Message message(thd);
  message.head("table lock");
  if (count == 1) {
    const TABLE_SHARE *share = tables[0]->s;
    message.head(" on ");
    if (may_see_name(thd, share->db.str, share->table_name.str))
      message.object(TABLE_KIND, share->db.str, share->table_name.str);
    else
      message.object(TABLE_KIND, "");
  }
  message.tail(
      limit("not granted within",
            is_governed_by_variable(thd, timeout) ? VARIABLE_NAME : nullptr,
            timeout));
  message.raise();
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
      wait.query_id != thd->query_id) {
    my_error(ER_LOCK_WAIT_TIMEOUT, errflag);
    return;
  }
  Message message(thd);
  message.head(lock).head(
      limit("not granted within", wait.variable, wait.seconds));
  /*
    The table in use; the lock may be on another one, in case of a foreign key.
  */
  if (table != nullptr && *table != '\0' &&
      (db == nullptr || *db == '\0' || may_see_name(thd, db, table)))
    message.head("; ").object(TABLE_KIND, db, table);
  message.raise(errflag);
}
