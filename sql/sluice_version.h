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

#ifndef SQL_SLUICE_VERSION_H
#define SQL_SLUICE_VERSION_H

/**
  What the server says it is, in @@version_comment, --version and the error
  log: the product and the revision of its repository that it was built from.
  A constant, so it may be used before and while static objects are constructed.
*/
extern const char sluice_version_comment[];

#endif  // SQL_SLUICE_VERSION_H
