/**
 * The rows of docs/spec, read from its pages. A test that proves a requirement or a fault carries the id of the row in its
 * title or in the title of a group around it.
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
