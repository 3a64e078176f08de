// Package leftover finds what no record owns, and what is not where it was.
//
// Leftovers lists what no record owns. Prune removes one of these, only on
// proof: if git cannot answer, nothing is removed. Identify, Importable and
// Unrecorded rebuild records from what exists. Where says what was moved.
// Repair updates git's files and the record.
package leftover
