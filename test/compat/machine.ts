/** `npm run compat`: the rows of docs/compatibility.md that need a program of the machine. */
import { isPresent } from './programs.ts'
import { rows } from './rows.ts'
import { testRows } from './world.ts'

testRows(
  rows.filter(({ program }) => program !== undefined),
  ({ program = '' }) => (isPresent(program) ? undefined : program),
)
