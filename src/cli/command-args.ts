/** Reads the arguments of a command with options. */
import { parseArgs } from 'node:util'
import { UsageError } from './usage-error.ts'

export type OptionTypes = Readonly<Record<string, 'boolean' | 'string'>>

export type Options<T extends OptionTypes> = {
  readonly [Name in keyof T]?: T[Name] extends 'boolean' ? boolean : string
}

export interface CommandArgs<T extends OptionTypes> {
  readonly words: readonly string[]
  readonly options: Options<T>
}

/** @throws UsageError for an unknown option, and for one without its value. */
export function commandArgs<const T extends OptionTypes>(
  command: string,
  args: readonly string[],
  types: T,
): CommandArgs<T> {
  const options = Object.fromEntries(Object.entries(types).map(([name, type]) => [name, { type }]))
  try {
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
    return { words: positionals, options: values as Options<T> }
  } catch (error) {
    const { code } = error as { code?: unknown }
    const option = /'(-[^' =]+)/.exec((error as Error).message)?.[1] ?? ''
    if (code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION')
      throw new UsageError(`Unknown option ${option} of ${command}: ${command} --help lists the options.`)
    if (code === 'ERR_PARSE_ARGS_INVALID_OPTION_VALUE')
      throw new UsageError(`Cannot run ${command}: ${option} has a missing or unexpected value.`)
    throw error
  }
}
