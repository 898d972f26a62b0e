/**
 * Lists of the Python library. Their items are properties: in format 1 with decimal numbers from 0 on, in format 2 with keys
 * that sort in the order of the list. The metadata names the format. Rows of the other format are remains of a conversion.
 */
import type { JsonText } from '../json/json.ts'
import type { SourceDatabase, SourceValue } from './source.ts'
import { objectOf, textInRow, timeInRow, valueOfText } from './stored-value.ts'

export interface SourceList {
  readonly name: string
  readonly format: 1 | 2
  /** The number of items. Null in format 2, which has no stored number. */
  readonly length: number | null
  readonly description: string
  readonly explanation: string
  /** Unix milliseconds. Null: unknown. */
  readonly createdAt: number | null
  readonly updatedAt: number | null
}

const prefix = 'list:'
const headSuffix = '-meta'

export function nameOfHead({ name }: SourceValue): string {
  return name.slice(prefix.length, -headSuffix.length)
}

/** The list of a row with metadata. Null: the metadata cannot be read. */
export function listOfHead(head: SourceValue): SourceList | null {
  const metadata = objectOf(head.value)
  if (metadata === null) return null
  const format = Number(metadata['format'] ?? 1) === 2 ? 2 : 1
  const length = Number(metadata['length'] ?? 0)
  if (format === 1 && !(Number.isSafeInteger(length) && length >= 0)) return null
  return {
    name: nameOfHead(head),
    format,
    length: format === 1 ? length : null,
    description: textInRow(metadata, 'description') ?? '',
    explanation: textInRow(metadata, 'explanation') ?? '',
    createdAt: timeInRow(metadata, 'created_at'),
    updatedAt: timeInRow(metadata, 'updated_at'),
  }
}

/** Yields the items in the order of the list, page by page. */
export async function* itemsOfList(
  source: SourceDatabase,
  actorId: string,
  list: SourceList,
): AsyncGenerator<readonly JsonText[], void> {
  const first = `${prefix}${list.name}-`
  // A range of names is not enough: a list whose name begins with "<name>-" has rows between them.
  const [pages, isItem] =
    list.format === 2
      ? ([source.between(actorId, `${first}#`, `${first}$`), (rest: string) => /^#[0-9A-Za-z]+$/.test(rest)] as const)
      : ([
          source.numbered(actorId, `${first}0`, `${first}:`),
          (rest: string) => /^\d+$/.test(rest) && Number(rest) < (list.length ?? 0),
        ] as const)
  for await (const rows of pages) {
    const items = rows.filter(({ name }) => isItem(name.slice(first.length)))
    if (items.length > 0) yield items.map(({ value }) => valueOfText(value))
  }
}
