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

#include "sql/sluice_version.h"

// Written by the superbuild; absent when a tree is built by hand.
#if __has_include("sluice_revision.h")
#include "sluice_revision.h"
#else
#define SLUICE_REVISION "unknown"
#endif

const char sluice_version_comment[] =
    "Sluice Server (GPL), revision " SLUICE_REVISION;
