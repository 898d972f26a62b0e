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

const membersOf = (block: string): string[] =>
  [...block.matchAll(/readonly (\w+)\??:/g)].map(([, member = '']) => member)

/** The events of changes, with the members of each. */
function changeEvents(): [name: string, members: string[]][] {
  const source = read('src/app/background/background.ts')
  const shared = membersOf(blockOf(source, 'export interface ChangeEvent {'))
  return [
    ['property_changed', 'PropertyChanged'],
    ['list_changed', 'ListChanged'],
    ['file_changed', 'FileChanged'],
  ].map(([name = '', type = '']) => [
    name,
    [...shared, ...membersOf(blockOf(source, `export interface ${type} extends ChangeEvent {`))],
  ])
}

describe('the page about events', () => {
  it('names exactly the declared events with their arguments', () => {
    const source = read('src/app/declarations.ts')
    const shared = membersOf(blockOf(source, 'export interface TrustEvent {'))
    const events = blockOf(source, 'export interface Events extends ChangeEvents {')
    const declared = new Map<string, string[]>(changeEvents())
    for (const [, name = '', rest = ''] of events.matchAll(/^ {2}(\w+): (.*)$/gm)) {
      const own = rest.endsWith('{') ? blockOf(events, `  ${name}: ${rest}`, '  ') : rest
      declared.set(name, [...(rest.startsWith('TrustEvent') ? shared : []), ...membersOf(own)])
    }
    assert.equal(declared.size, 18)
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
