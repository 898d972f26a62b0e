/** Pages from a folder of Liquid templates (https://liquidjs.com) that the application supplies. */
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
   * Reads all `.html` files of the folder.
   *
   * @throws ConfigError naming the file and the line of an invalid template.
   */
  static load(folder: string): Templates {
    const root = resolve(folder)
    // Values are escaped, unless the template uses `| raw`.
    const engine = new Liquid({ root, outputEscape: 'escape', strictFilters: true, cache: true })
    const parsed = new Map<string, Template[]>()
    for (const name of namesIn(root)) {
      try {
        const template = engine.parseFileSync(name)
        // Liquid resolves layouts and partials at rendering. Resolving them now reports a missing file at the start.
        engine.analyzeSync(template)
        parsed.set(name, template)
      } catch (error) {
        throw new ConfigError(`Cannot use template ${name}: ${complaintOf(error, root)}.`, { cause: error })
      }
    }
    return new Templates(engine, parsed)
  }

  /** Returns a template by file name, with or without `.html`; null when it does not exist. */
  find(name: string): ((values: object) => Html) | null {
    const template = this.#parsed.get(name) ?? this.#parsed.get(`${name}.html`)
    return template === undefined ? null : async (values) => raw(await this.#render(template, values))
  }

  async #render(template: Template[], values: object): Promise<string> {
    const page: unknown = await this.#engine.render(template, values)
    return String(page)
  }
}

/** Returns the error in one line, without the path of the folder. */
function complaintOf(error: unknown, root: string): string {
  const [line = ''] = (error instanceof Error ? error.message : String(error)).split('\n')
  const [, missing] = /Failed to lookup ("[^"]*")/.exec(line) ?? []
  return missing === undefined ? line.replaceAll(`${root}${sep}`, '') : `it needs ${missing}, which does not exist`
}

function namesIn(root: string): string[] {
  try {
    if (!statSync(root).isDirectory()) throw new Error('it is a file')
    return readdirSync(root, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.html'))
      .map((name) => relative(root, resolve(root, name)).split(sep).join('/'))
  } catch (cause) {
    throw new ConfigError(`Cannot read the folder of templates ${JSON.stringify(root)}: check TROUPE_TEMPLATES.`, {
      cause,
    })
  }
}
