/** The code of `troupe/client` as a script, for single-page applications without a build. */
import { readFile } from 'node:fs/promises'
import { stripTypeScriptTypes } from 'node:module'
import { codeFolder } from '../../release.ts'

/** The name below `/assets` that applications import. */
export const clientScriptName = 'troupe-client.js'

const isSource = codeFolder.pathname.endsWith('/src/')

/**
 * Returns the script at this name below `/assets`. Null: no such script. A published package has one file. The sources
 * have several, which import each other by their own names.
 */
export async function clientScript(name: string): Promise<string | null> {
  if (!isSource) return name === clientScriptName ? read('client.js') : null
  const source = name === clientScriptName ? 'client.ts' : /^client\/[a-z-]+\.ts$/.exec(name)?.[0]
  const text = source === undefined ? null : await read(source)
  return text === null ? null : stripTypeScriptTypes(text)
}

async function read(name: string): Promise<string | null> {
  try {
    return await readFile(new URL(name, codeFolder), 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
    throw error
  }
}
