/** Pages out of a folder of Liquid templates (https://liquidjs.com) that the application supplies. */
import { readdirSync, statSync } from 'node:fs'
import { relative, resolve, sep } from 'node:path'
import { raw } from 'hono/html'
import { Liquid, type Template } from 'liquidjs'
import { ConfigError } from '../../config/config-error.ts'
import type { Html } from './values.ts'

export class Templates {
  readonly #engine: Liquid
  readonly #parsed: ReadonlyMap<string, Template[]>

  private constructor(engine: Liquid, parsed: ReadonlyMap<string, Template[]>) {
    this.#engine = engine
    this.#parsed = parsed
  }

  /**
   * Reads every `.html` file of the folder, once.
   *
   * @throws ConfigError naming the file and the line of a template that cannot be used.
   */
  static load(folder: string): Templates {
    const root = resolve(folder)
    // What is put into a page is text, unless the template says `| raw`.
    const engine = new Liquid({ root, outputEscape: 'escape', strictFilters: true, cache: true })
    const parsed = new Map<string, Template[]>()
    for (const name of namesIn(root)) {
      try {
        const template = engine.parseFileSync(name)
        // Layouts and parts are looked up when a page is shown; one that is missing is better known now.
        engine.analyzeSync(template)
        parsed.set(name, template)
      } catch (error) {
        throw new ConfigError(`Template ${name} cannot be used: ${complaintOf(error, root)}.`, { cause: error })
      }
    }
    return new Templates(engine, parsed)
  }

  /** Null when there is no file of that name; the ending may be left out. */
  find(name: string): ((values: object) => Html) | null {
    const template = this.#parsed.get(name) ?? this.#parsed.get(`${name}.html`)
    return template === undefined ? null : async (values) => raw(await this.#render(template, values))
  }

  async #render(template: Template[], values: object): Promise<string> {
    const page: unknown = await this.#engine.render(template, values)
    return String(page)
  }
}

/** One line, without where the folder is. */
function complaintOf(error: unknown, root: string): string {
  const [line = ''] = (error instanceof Error ? error.message : String(error)).split('\n')
  const [, missing] = /Failed to lookup ("[^"]*")/.exec(line) ?? []
  return missing === undefined ? line.replaceAll(`${root}${sep}`, '') : `it needs ${missing}, which is not there`
}

function namesIn(root: string): string[] {
  try {
    if (!statSync(root).isDirectory()) throw new Error('it is a file')
    return readdirSync(root, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.html'))
      .map((name) => relative(root, resolve(root, name)).split(sep).join('/'))
  } catch (cause) {
    throw new ConfigError(`The folder of templates ${JSON.stringify(root)} cannot be read.`, { cause })
  }
}
