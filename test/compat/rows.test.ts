/** The rows of docs/compatibility.md that need no program of the machine. */
import { rows } from './rows.ts'
import { testRows } from './world.ts'

testRows(rows.filter(({ program }) => program === undefined))
