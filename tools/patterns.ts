/** Names every regular expression of the service whose time is not linear (`npm run patterns`). */
import { join } from 'node:path'
import detector from 'scslre'
import { growthOf } from '../src/app/patterns/growth.ts'
import { expressionsIn } from '../test/support/regular-expressions.ts'

const { literals } = await expressionsIn(join(import.meta.dirname, '../src'))
const slow = literals.filter(
  ({ source, flags }) =>
    growthOf(source, flags) !== 'linear' || detector.analyse(new RegExp(source, flags)).reports.length > 0,
)
for (const { place, source, flags } of slow)
  process.stdout.write(`src/${place} /${source}/${flags} takes more than linear time\n`)
if (slow.length > 0) {
  process.stdout.write('Write these expressions so that two repetitions never read the same characters in turn.\n')
  process.exitCode = 1
}
