/** Secrets in files, as Docker and Kubernetes mount them: `<SETTING>_FILE` names the file that contains the setting. */
import { readFileSync } from 'node:fs'
import { ConfigError } from './config-error.ts'
import type { Environment } from './env.ts'

/** A setting of the environment, and the variable that it comes from. */
export interface GivenSetting {
  readonly source: string
  readonly text: string
}

/** The variable that names the file of a secret setting. */
export function fileVariable(variable: string): string {
  return `${variable}_FILE`
}

/**
 * Reads a setting of the environment. A secret one may be in a file, whose final line break is not part of it.
 *
 * @returns null when the setting is absent.
 * @throws ConfigError for a file that cannot be read or is empty, and for a setting that is given in both ways.
 */
export function settingIn(
  env: Environment,
  variable: string,
  { secret = false, readsEmpty = false }: { readonly secret?: boolean; readonly readsEmpty?: boolean },
): GivenSetting | null {
  const text = env[variable]
  const own = text === undefined || (text === '' && !readsEmpty) ? null : { source: variable, text }
  const source = fileVariable(variable)
  const path = secret ? (env[source] ?? '') : ''
  if (path === '') return own
  if (own !== null) throw new ConfigError(`Both ${variable} and ${source} are set: remove one of them.`)
  return { source, text: contentOf(path, source) }
}

/** The start of a path, which errors may print. Any other value may be the secret itself, in the wrong variable. */
const shownPath = /^(?:\.{0,2}\/|[A-Za-z]:[\\/])(?!.*:\/\/)/s

function contentOf(path: string, source: string): string {
  const isShown = shownPath.test(path)
  let content: string
  try {
    content = readFileSync(path, 'utf8')
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException
    throw new ConfigError(
      isShown
        ? `${source} cannot be read: ${path} (${code}). The user of the service needs the right to read this file.`
        : `${source} cannot be read (${code}). It must be the path of a file that contains the secret: /run/secrets/…`,
    )
  }
  const text = content.replace(/\r?\n$/, '')
  if (text.trim() === '')
    throw new ConfigError(`${source} names an empty file${isShown ? `: ${path}` : ''}. Write the secret into it.`)
  return text
}
