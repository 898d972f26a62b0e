/** The release of this package, and the folder of its code. */
import { readFileSync } from 'node:fs'

/** The folder of this code: `src`, or `dist` in a published package, where one file contains many modules. */
export const codeFolder = new URL('./', import.meta.url)

const description: unknown = JSON.parse(readFileSync(new URL('../package.json', codeFolder), 'utf8'))

export const release: string =
  typeof description === 'object' && description !== null && 'version' in description
    ? String(description.version)
    : '0.0.0'
