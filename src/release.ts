/** The release of this package. */
import { readFileSync } from 'node:fs'

const description: unknown = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))

export const release: string =
  typeof description === 'object' && description !== null && 'version' in description
    ? String(description.version)
    : '0.0.0'
