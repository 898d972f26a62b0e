/** `npm run conformance`: runs the conformance suite for both revisions and writes docs/conformance.md. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { commandOptions } from '../../tools/command-options.ts'
import { createTestDatabase } from '../support/stores.ts'
import { failuresIn, report, revisions, runSuite, type ScenarioResult, type SuiteRevision } from './suite.ts'

commandOptions({
  command: 'npm run conformance',
  about: 'Runs the conformance suite of MCP for both revisions, and writes docs/conformance.md.',
  options: {},
})

const root = join(import.meta.dirname, '..', '..')
const all = new Map<SuiteRevision, ScenarioResult[]>()
for (const revision of revisions) {
  const database = await createTestDatabase('sqlite')
  const results = await runSuite(database.url, revision)
  await database.remove()
  all.set(revision, results)
  for (const line of failuresIn(results)) console.log(`${revision} ${line}`)
  console.log(`${revision}: ${results.length} scenarios, ${failuresIn(results).length} failed or warned`)
}
const manifest = JSON.parse(
  await readFile(join(root, 'node_modules', '@modelcontextprotocol', 'conformance', 'package.json'), 'utf8'),
) as { version: string }
await writeFile(join(root, 'docs', 'conformance.md'), report(all, manifest.version))
