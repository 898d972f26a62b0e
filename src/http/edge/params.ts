/** Query and form fields. The first value of each name counts, and an empty value counts as missing. */
import { ServiceError } from '../../errors.ts'

export const maxQueryFields = 200
export const maxFormFields = 1000

export class Params {
  static readonly none: Params = new Params(new Map())
  /** The fields in the order and spelling of the request. */
  readonly entries: ReadonlyMap<string, string>
  #lowerCase: ReadonlyMap<string, string> | undefined

  constructor(entries: ReadonlyMap<string, string>) {
    this.entries = entries
  }

  static parse(text: string, maxFields: number, what: string): Params {
    if (text === '') return Params.none
    const entries = new Map<string, string>()
    let fields = 0
    for (const [name, value] of new URLSearchParams(text)) {
      fields += 1
      if (fields > maxFields)
        throw new ServiceError('bad_request', `Cannot read the ${what}: it has more than ${maxFields} fields`)
      if (!entries.has(name)) entries.set(name, value)
    }
    return new Params(entries)
  }

  /** Returns the value of a field. The name ignores case. */
  get(name: string): string | undefined {
    if (this.entries.size === 0) return undefined
    this.#lowerCase ??= new Map([...this.entries].reverse().map(([key, value]) => [key.toLowerCase(), value]))
    const value = this.#lowerCase.get(name.toLowerCase())
    return value === '' ? undefined : value
  }

  has(name: string): boolean {
    return this.get(name) !== undefined
  }
}
