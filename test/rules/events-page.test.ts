import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, it } from 'node:test'

const root = dirname(dirname(import.meta.dirname))
const read = (path: string): string => readFileSync(join(root, path), 'utf8')

/** The lines between an opening line of the source and the closing brace of the same indentation. */
function blockOf(source: string, opening: string, indent = ''): string {
  const [, rest] = source.split(`${opening}\n`)
  assert.ok(rest !== undefined, opening)
  return rest.slice(0, rest.indexOf(`\n${indent}}`))
}

const membersOf = (block: string): string[] => [...block.matchAll(/readonly (\w+):/g)].map(([, member = '']) => member)

describe('the page about events', () => {
  it('names exactly the declared events with their arguments', () => {
    const source = read('src/app/declarations.ts')
    const shared = membersOf(blockOf(source, 'export interface TrustEvent {'))
    const events = blockOf(source, 'export interface Events {')
    const declared = new Map<string, string[]>()
    for (const [, name = '', rest = ''] of events.matchAll(/^ {2}(\w+): (.*)$/gm)) {
      const own = rest.endsWith('{') ? blockOf(events, `  ${name}: ${rest}`, '  ') : rest
      declared.set(name, [...(rest.startsWith('TrustEvent') ? shared : []), ...membersOf(own)])
    }
    assert.equal(declared.size, 13)
    const documented = new Map<string, string[]>()
    for (const [, name = '', members = ''] of read('docs/events.md').matchAll(/^\| `(\w+)` \|[^|]*\| ([^|]*) \|$/gm)) {
      documented.set(
        name,
        [...members.matchAll(/`(\w+)`/g)].map(([, member = '']) => member),
      )
    }
    assert.deepEqual(
      [...documented].toSorted(([a], [b]) => (a < b ? -1 : 1)),
      [...declared].toSorted(([a], [b]) => (a < b ? -1 : 1)),
    )
  })
})
