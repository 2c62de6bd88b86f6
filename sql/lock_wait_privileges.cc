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
  @file sql/lock_wait_privileges.cc
  Which names ER_LOCK_WAIT_TIMEOUT may tell.
*/

#include "sql/lock_wait_privileges.h"

#include <string.h>

#include "lex_string.h"
#include "mf_wcomp.h"  // wild_compare
#include "my_dbug.h"
#include "sql/auth/auth_acls.h"
#include "sql/auth/auth_common.h"  // check_grant_db
#include "sql/auth/sql_auth_cache.h"
#include "sql/auth/sql_security_ctx.h"
#include "sql/mysqld.h"  // mysqld_partial_revokes
#include "sql/sql_class.h"
#include "sql/sql_lex.h"  // Acl_type

namespace {

/**
  Reads the caches of privileges, unless somebody changes them now: an error
  about a wait must not wait.
*/
class Acl_cache_try_lock {
 public:
  explicit Acl_cache_try_lock(THD *thd) : m_context(&thd->mdl_context) {
    MDL_REQUEST_INIT(&m_request, MDL_key::ACL_CACHE, "", "", MDL_SHARED,
                     MDL_EXPLICIT);
    if (m_context->try_acquire_lock(&m_request)) m_request.ticket = nullptr;
  }
  ~Acl_cache_try_lock() {
    if (is_locked()) m_context->release_lock(m_request.ticket);
  }
  Acl_cache_try_lock(const Acl_cache_try_lock &) = delete;
  Acl_cache_try_lock &operator=(const Acl_cache_try_lock &) = delete;

  bool is_locked() const { return m_request.ticket != nullptr; }

 private:
  MDL_context *m_context;
  MDL_request m_request;
};

/**
  Which privileges on a schema, or on all, let an account see what is in it:
  those by which INFORMATION_SCHEMA shows such objects. An account that may only
  execute routines is shown no tables, and one that may only read tables of one
  schema no routines.
*/
Access_bitmask privileges_that_show(MDL_key::enum_mdl_namespace mdl_namespace) {
  DBUG_EXECUTE_IF("mutate_1205_any_privilege", return DB_OP_ACLS;);
  switch (mdl_namespace) {
    case MDL_key::SCHEMA:
      return DB_OP_ACLS;
    case MDL_key::FUNCTION:
    case MDL_key::PROCEDURE:
    case MDL_key::LIBRARY:
      return SHOW_PROC_ACLS;
    case MDL_key::TRIGGER:
      DBUG_EXECUTE_IF("mutate_1205_trigger", return TABLE_OP_ACLS;);
      return TRIGGER_ACL;
    case MDL_key::EVENT:
      DBUG_EXECUTE_IF("mutate_1205_event", return TABLE_OP_ACLS;);
      return EVENT_ACL;
    default:
      /* Constraints are shown with their tables. */
      DBUG_EXECUTE_IF("mutate_1205_constraint", return DB_OP_ACLS;);
      return TABLE_OP_ACLS;
  }
}

/**
  Does upstream show the names of such objects to an account with PROCESS alone?
  INFORMATION_SCHEMA.INNODB_TABLES, INNODB_COLUMNS, INNODB_FOREIGN and
  INNODB_TABLESPACES do, with their schemas. Nothing else is shown for PROCESS:
  SHOW PROCESSLIST has the names in statements that run now, and
  performance_schema.metadata_locks wants SELECT.
*/
bool is_shown_for_process(MDL_key::enum_mdl_namespace mdl_namespace) {
  DBUG_EXECUTE_IF("mutate_1205_process", return true;);
  switch (mdl_namespace) {
    case MDL_key::TABLESPACE:
    case MDL_key::SCHEMA:
    case MDL_key::TABLE:
    case MDL_key::COLUMN_STATISTICS:
    case MDL_key::FOREIGN_KEY:
      return true;
    default:
      return false;
  }
}

/** privileges_that_show() on all schemas, some of which may be revoked. */
Access_bitmask global_privileges_that_show(
    MDL_key::enum_mdl_namespace mdl_namespace) {
  const auto same = privileges_that_show(mdl_namespace);
  switch (mdl_namespace) {
    case MDL_key::FUNCTION:
    case MDL_key::PROCEDURE:
    case MDL_key::LIBRARY:
      /* As in has_full_view_routine_access(). */
      return same | SELECT_ACL;
    default:
      return same;
  }
}

/** Privileges on a schema, without those of roles (@sa acl_get()). */
Access_bitmask schema_privileges(const Security_context *sctx, const char *db) {
  for (ACL_DB &acl_db : *acl_dbs) {
    if ((acl_db.user == nullptr ||
         strcmp(sctx->priv_user().str, acl_db.user) == 0) &&
        acl_db.host.compare_hostname(sctx->host().str, sctx->ip().str) &&
        (acl_db.db == nullptr ||
         (mysqld_partial_revokes()
              ? strcmp(db, acl_db.db) == 0
              : wild_compare(db, strlen(db), acl_db.db, strlen(acl_db.db),
                             false) == 0)))
      return acl_db.access;
  }
  return 0;
}

/**
  Does the account have some privilege in a schema?

  To be called with an Acl_cache_try_lock: check_grant_db() locks the cache,
  too, but not if its Acl_cache_lock_guard finds it already_locked(). Without
  that it would wait, behind somebody who changes privileges, and for its own
  timeout.
*/
bool has_privilege_in_schema(THD *thd, Security_context *sctx, const char *db) {
  Security_context *const current = thd->security_context();
  thd->set_security_context(sctx);
  const bool result = !check_grant_db(thd, db);
  thd->set_security_context(current);
  return result;
}

/** Does the account have this dynamic privilege? To be called as the above. */
bool has_dynamic_privilege(Security_context *sctx, const char *privilege) {
  return sctx->has_global_grant(privilege, strlen(privilege)).first;
}

/** May the account see the name of an object that is in no schema? */
bool may_see_global_name(THD *thd, Security_context *sctx,
                         MDL_key::enum_mdl_namespace mdl_namespace) {
  switch (mdl_namespace) {
    case MDL_key::TABLESPACE:
      /* The names of implicit tablespaces contain those of tables. */
      DBUG_EXECUTE_IF("mutate_1205_tablespace", return true;);
      return sctx->check_access(CREATE_TABLESPACE_ACL);
    case MDL_key::RESOURCE_GROUPS: {
      DBUG_EXECUTE_IF("mutate_1205_resource_group", return true;);
      if (sctx->check_access(SUPER_ACL)) return true;
      /* RESOURCE_GROUP_USER only shows groups for users: is this one? */
      const Acl_cache_try_lock lock(thd);
      return lock.is_locked() &&
             has_dynamic_privilege(sctx, "RESOURCE_GROUP_ADMIN");
    }
    default:
      return true;
  }
}

/** @sa lock_wait_may_see_name(); here by the privileges of one account. */
bool may_see_name(THD *thd, Security_context *sctx,
                  MDL_key::enum_mdl_namespace mdl_namespace, const char *db,
                  const char *name) {
  if (sctx->check_access(PROCESS_ACL) && is_shown_for_process(mdl_namespace))
    return true;
  if (*db == '\0') return may_see_global_name(thd, sctx, mdl_namespace);
  const Access_bitmask enough = privileges_that_show(mdl_namespace);
  if ((sctx->master_access(db) & global_privileges_that_show(mdl_namespace)) !=
      0)
    return true;
  /* Nobody has logged in. An anonymous account may have privileges. */
  if (sctx->priv_user().length == 0 && thd->system_thread != NON_SYSTEM_THREAD)
    return false;

  const LEX_CSTRING db_str{db, strlen(db)};
  const LEX_CSTRING name_str{name, strlen(name)};
  const bool has_roles = sctx->get_num_active_roles() > 0;

  const Acl_cache_try_lock lock(thd);
  if (!lock.is_locked() &&
      DBUG_EVALUATE_IF("mutate_1205_acl_wait", false, true))
    return false;
  if (acl_dbs == nullptr || column_priv_hash == nullptr) return false;

  if (((has_roles ? sctx->db_acl(db_str, false) : schema_privileges(sctx, db)) &
       enough) != 0)
    return true;

  Acl_type routine_type;
  Access_bitmask by_roles = 0;
  switch (mdl_namespace) {
    case MDL_key::SCHEMA:
      return has_privilege_in_schema(thd, sctx, db);
    case MDL_key::TABLE:
    case MDL_key::COLUMN_STATISTICS: {
      if (has_roles) {
        const Grant_table_aggregate grants =
            sctx->table_and_column_acls(db_str, name_str);
        return ((grants.table_access | grants.cols) & TABLE_OP_ACLS) != 0;
      }
      const GRANT_TABLE *grants =
          table_hash_search(sctx->host().str, sctx->ip().str, db,
                            sctx->priv_user().str, name, false);
      return grants != nullptr &&
             ((grants->privs | grants->cols) & TABLE_OP_ACLS) != 0;
    }
    case MDL_key::FUNCTION:
      routine_type = Acl_type::FUNCTION;
      if (has_roles) by_roles = sctx->function_acl(db_str, name_str);
      break;
    case MDL_key::PROCEDURE:
      routine_type = Acl_type::PROCEDURE;
      if (has_roles) by_roles = sctx->procedure_acl(db_str, name_str);
      break;
    case MDL_key::LIBRARY:
      routine_type = Acl_type::LIBRARY;
      if (has_roles) by_roles = sctx->library_acl(db_str, name_str);
      break;
    default:
      /*
        There are no privileges on such an object alone. Those on its table are
        not enough: the lock does not tell which table that is.
      */
      return false;
  }
  if (has_dynamic_privilege(sctx, "SHOW_ROUTINE") ||
      (by_roles & PROC_OP_ACLS) != 0)
    return true;
  if (has_roles) return false;
  const GRANT_NAME *grants =
      routine_hash_search(sctx->host().str, sctx->ip().str, db,
                          sctx->priv_user().str, name, routine_type, false);
  return grants != nullptr && (grants->privs & PROC_OP_ACLS) != 0;
}

}  // namespace

bool lock_wait_may_see_name(THD *thd, MDL_key::enum_mdl_namespace mdl_namespace,
                            const char *db, const char *name) {
  DBUG_EXECUTE_IF("mutate_1205_privileges", return true;);
  mysql_mutex_assert_not_owner(&LOCK_open);

  /*
    A handler of a routine with the rights of its definer reads the error, and
    tells the definer. That routine may have called the present one, which has
    the rights of yet another account: nothing says who is between.
  */
  Security_context *const connected = &thd->m_main_security_ctx;
  if (thd->security_context() != connected &&
      DBUG_EVALUATE_IF("mutate_1205_definer", false, true))
    return false;
  return may_see_name(thd, connected, mdl_namespace, db, name);
}
