/**
 * The rows of docs/spec, read from its pages. A test that proves a requirement or a fault carries the id of the row in its
 * title or in the title of a group around it. The last column of the row names the tests that prove it.
 */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

export interface Area {
  readonly id: string
  readonly subject: string
  readonly rows: number
  /** The ids of the rows, in the order of the page. */
  readonly ids: readonly string[]
}

/** A test that proves a row, as the row names it. */
export interface Proof {
  /** The path of the test file. */
  readonly file: string
  /** The title without ids, after its group and `›` when a file has the title twice. `…` is any part of a title. */
  readonly title: string
}

const folder = join(dirname(dirname(import.meta.dirname)), 'docs', 'spec')

/** Reads a page of docs/spec, by its name without `.md`. */
export function specPage(name: string): string {
  return readFileSync(join(folder, `${name}.md`), 'utf8')
}

/** Returns the areas of a page: each heading `## ID: subject` with the rows of its tables. */
export function areasOf(page: string): Area[] {
  return page.split(/^## /m).flatMap((section) => {
    const [, id, subject] = /^([A-Z]+(?:-[A-Z]+)?): (.+)\n/.exec(section) ?? []
    if (id === undefined || subject === undefined) return []
    const ids = rowIds(section)
    return [{ id, subject, rows: ids.length, ids }]
  })
}

/** Returns the ids of the rows that have an anchor. */
export function rowIds(text: string): string[] {
  return [...text.matchAll(/^\| <a id="[^"]*"><\/a>(\S+) \|/gm)].flatMap(([, id]) => id ?? [])
}

/** All areas of the faults and requirements. Test coverage is counted for each area. */
export const areas: readonly Area[] = [...areasOf(specPage('faults')), ...areasOf(specPage('requirements'))]

/** Areas of faults are plain words. Only these words form ids, so UTF-16 is not an id. */
const plainAreas = areas.filter(({ id }) => !id.startsWith('R-')).map(({ id }) => id)
const id = `(?:(?:${plainAreas.join('|')}|(?:R|WIRE)-[A-Z]+|CHOICE)-\\d+|I\\d+)`

/** Each id of a row in a string, also of a row that does not exist. */
export const idForm = new RegExp(`(?<![\\w-])${id}(?![\\w-])`, 'g')

const idsLast = new RegExp(` ?\\(${id}(?:, ${id})*\\)$`)

/** Returns a title without the ids at its end. */
export function withoutIds(title: string): string {
  return title.replace(idsLast, '')
}

/** Returns the tests that prove each row of a page, by id. The last cell of a row has lines such as `stories/keys`: title. */
export function proofsOf(page: string): Map<string, readonly Proof[]> {
  const rows = page.matchAll(/^\| <a id="[^"]*"><\/a>(\S+) \|.* \| (.*) \|$/gm)
  return new Map(Array.from(rows, ([, row = '', cell = '']) => [row, cell.split('<br>').flatMap(proofIn)]))
}

const noProof = '[none](#rows-without-a-test)'

function proofIn(line: string): Proof[] {
  if (line === noProof) return []
  const [, file, title] = /^`([\w/-]+)`: (.+)$/.exec(line) ?? []
  // A line of another form is a proof without a file, which the check reports.
  if (file === undefined || title === undefined) return [{ file: '', title: line }]
  return [{ file: `test/${file}.test.ts`, title: title.replaceAll(/\\([[\]<|])/g, '$1') }]
}
