/*****************************************************************************

Copyright (c) 2026, Sluice contributors.

This program is free software; you can redistribute it and/or modify it under
the terms of the GNU General Public License, version 2.0, as published by the
Free Software Foundation.

This program is distributed in the hope that it will be useful, but WITHOUT
ANY WARRANTY; without even the implied warranty of MERCHANTABILITY or FITNESS
FOR A PARTICULAR PURPOSE. See the GNU General Public License, version 2.0,
for more details.

You should have received a copy of the GNU General Public License along with
this program; if not, write to the Free Software Foundation, Inc.,
51 Franklin St, Fifth Floor, Boston, MA 02110-1301  USA

*****************************************************************************/

/** @file bench/lru_lab/lru_lab_parameters.h
 What the command line may set. */

#ifndef LRU_LAB_PARAMETERS_H
#define LRU_LAB_PARAMETERS_H

#include <cstdint>
#include <map>
#include <string>

namespace lru_lab {

/** Numbers, and words. Their defaults are in lru_lab_parameters.cc. */
extern std::map<std::string, double> parameters;
extern std::map<std::string, std::string> words;

double number(const char *name);
bool is_set(const char *name);

/** A number that is looked up once. */
class Number {
 public:
  explicit Number(const char *name) : m_value(number(name)) {}
  operator double() const { return m_value; }
  uint64_t whole() const { return static_cast<uint64_t>(m_value); }

 private:
  double m_value;
};

}  // namespace lru_lab

#endif /* LRU_LAB_PARAMETERS_H */
