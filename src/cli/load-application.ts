/** Loads the module of an application, for the commands that need its declarations. */
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { codeFolder } from '../release.ts'
import { App } from '../troupe.ts'
import { useFeatures } from './project/known-project.ts'
import { UsageError } from './usage-error.ts'

/** Folder of this service's own code. */
const ownFolder = fileURLToPath(codeFolder)

/** Commands work with the features of the application then. @throws UsageError for a file that is missing, fails, or exports no application. */
export async function loadApplication(file: string): Promise<App> {
  const path = resolve(file)
  if (!existsSync(path)) throw new UsageError(`Cannot load ${path}: the file does not exist.`)
  const module: unknown = await import(pathToFileURL(path).href).catch((error: unknown) => {
    throw loadProblem(path, error)
  })
  const app = typeof module === 'object' && module !== null && 'default' in module ? module.default : undefined
  if (!(app instanceof App))
    throw new UsageError(`Cannot run ${path}: it must export an application by default: export default troupe({ … })`)
  useFeatures(app.features)
  return app
}

export function loadProblem(path: string, error: unknown): UsageError {
  return new UsageError(`Cannot load ${path}: ${describe(error)}`, { cause: error })
}

/** Returns the error message and, when a file of the application caused it, the file and line. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const message = error.message.split('\n', 1)[0] ?? ''
  const places = (error.stack ?? '').split('\n').map(placeIn)
  // Declarations are validated in this service's code; the first other file of the stack contains the declaration.
  const place = places.find((one) => one?.file.startsWith(ownFolder) === false)
  return place === undefined || place === null ? message : `${message} (${place.file}:${place.line})`
}

/** Reads a line of a stack trace, such as `at run (file:///app/main.ts:3:5)`. */
function placeIn(text: string): { readonly file: string; readonly line: string } | null {
  const end = /:(\d+)(?::\d+)?\)?$/.exec(text)
  const inside = text.slice(text.lastIndexOf('(') + 1, end?.index)
  const start = /(?:^|\s|file:\/\/)(?=\/|[A-Z]:\\)/.exec(inside)
  if (end === null || start === null) return null
  return { file: inside.slice(start.index + start[0].length), line: end[1] ?? '' }
}
