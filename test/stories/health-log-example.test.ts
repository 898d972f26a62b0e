/** Runs the tests of the example as its reader does, in this process, and the commands of its README. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { after, it } from 'node:test'
import '../../examples/health-log/app.test.ts'
import { GuideReader } from '../support/guide-reader.ts'

const example = join(dirname(dirname(import.meta.dirname)), 'examples', 'health-log')
const readme = readFileSync(join(example, 'README.md'), 'utf8')
const reader = new GuideReader(readme)
after(() => reader.remove())

it('prints the responses that the README of the example shows', async () => {
  const program = reader.place.start(['dev', join(example, 'app.ts')], { env: { PORT: '0' } })
  const [, url = ''] = await program.prints(/is ready at (http:\/\/localhost:\d+)/)
  const commands = reader.steps.map(({ text }) => text).filter((text) => !text.startsWith('npm '))
  const shown = [...readme.matchAll(/^```text\n(.*?)^```$/gms)].map(([, text]) => text)
  assert.deepEqual([commands.length, shown.length], [4, 3])
  const script = commands.join('\n').replace('http://localhost:3000', url)
  assert.equal(await reader.run(script), shown.join(''))
})
