/** Parses and validates the options of this project's commands, and prints `--help`. */
import { parseArgs } from 'node:util'

interface About {
  /** Description of the option for `--help`. */
  readonly about: string
}

/** An option. An absent option has the value of `default`, or undefined. */
export type CommandOption = About &
  (
    | { readonly kind: 'flag' }
    | { readonly kind: 'text'; readonly default?: string }
    | { readonly kind: 'texts' }
    | { readonly kind: 'choice'; readonly choices: readonly string[]; readonly default?: string }
    /** A whole number, `least` or more. */
    | { readonly kind: 'integer'; readonly least: number; readonly default?: number }
    /** Any number greater than 0. */
    | { readonly kind: 'number'; readonly default?: number }
  )

type Given<O> = O extends { readonly kind: 'flag' }
  ? boolean
  : O extends { readonly kind: 'texts' }
    ? readonly string[] | undefined
    :
        | (O extends { readonly kind: 'choice'; readonly choices: readonly (infer C)[] }
            ? C
            : O extends { readonly kind: 'integer' | 'number' }
              ? number
              : string)
        | (O extends { readonly default: string | number } ? never : undefined)

type Options = Readonly<Record<string, CommandOption>>
type Values<T extends Options> = { readonly [Name in keyof T]: Given<T[Name]> }

export interface Command<T extends Options> {
  /** The command line, such as `npm run crash`. */
  readonly command: string
  readonly about: string
  readonly options: T
  /** Operands after the options, if allowed, such as `[part of a path …]`. */
  readonly operands?: string
}

export type Read<T extends Options> =
  | { readonly kind: 'run'; readonly values: Values<T>; readonly operands: readonly string[] }
  | { readonly kind: 'help'; readonly text: string }
  | { readonly kind: 'wrong'; readonly message: string }

/** Parses the options. Exits with 0 after `--help`, and with 2 after an invalid option. */
export function commandOptions<const T extends Options>(
  command: Command<T>,
): { readonly values: Values<T>; readonly operands: readonly string[] } {
  const read = readOptions(command, process.argv.slice(2))
  if (read.kind === 'run') return read
  if (read.kind === 'help') {
    console.log(read.text)
    process.exit(0)
  }
  console.error(`${read.message}\n\n${usageOf(command)}`)
  process.exit(2)
}

/** Exits with 2 because of an invalid combination of options. */
export function refuseOptions(command: Command<Options>, message: string): never {
  console.error(`${message}\n\n${usageOf(command)}`)
  process.exit(2)
}

export function readOptions<const T extends Options>(command: Command<T>, args: readonly string[]): Read<T> {
  if (args.includes('--help') || args.includes('-h')) return { kind: 'help', text: usageOf(command) }
  const { options, operands } = command
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: operands !== undefined,
      options: Object.fromEntries(
        Object.entries(options).map(([name, { kind }]) => [
          name,
          kind === 'flag' ? { type: 'boolean' } : { type: 'string', multiple: kind === 'texts' },
        ]),
      ),
    })
    const read = Object.entries(options).map(([name, option]) => [name, readValue(name, option, values[name])])
    // The cast is safe, because `readValue` parsed each value by its own option.
    return { kind: 'run', values: Object.fromEntries(read) as Values<T>, operands: positionals }
  } catch (error) {
    if (!(error instanceof Error)) throw error
    const [first = ''] = error.message.split(/\. |\n/)
    return { kind: 'wrong', message: `${first.replace(/\.$/, '')}.` }
  }
}

function readValue(name: string, option: CommandOption, given: unknown): unknown {
  if (given === undefined) return option.kind === 'flag' ? false : 'default' in option ? option.default : undefined
  switch (option.kind) {
    case 'flag':
    case 'text':
    case 'texts':
      return given
    case 'choice':
      if (option.choices.some((choice) => choice === given)) return given
      throw wrong(name, given, `one of ${option.choices.join(', ')}`)
    case 'integer': {
      const value = Number(given)
      if (Number.isSafeInteger(value) && value >= option.least && given !== '') return value
      throw wrong(name, given, `a whole number, ${option.least} or more`)
    }
    case 'number': {
      const value = Number(given)
      if (Number.isFinite(value) && value > 0) return value
      throw wrong(name, given, 'a number greater than 0')
    }
    default:
      return option satisfies never
  }
}

function wrong(name: string, given: unknown, expected: string): Error {
  return new Error(`Invalid --${name} ${JSON.stringify(given)}: expected ${expected}`)
}

export function usageOf({ command, about, options, operands }: Command<Options>): string {
  const rows = Object.entries(options).map(([name, option]) => {
    const fallback = 'default' in option && option.default !== undefined ? ` Default: ${option.default}.` : ''
    const choices = option.kind === 'choice' ? ` One of ${option.choices.join(', ')}.` : ''
    return [`--${name}${placeholders[option.kind]}`, `${option.about}${choices}${fallback}`] as const
  })
  rows.push(['--help', 'Shows this text.'])
  const width = Math.max(...rows.map(([left]) => left.length))
  const parts = [
    command,
    '--',
    ...(rows.length > 1 ? ['[options]'] : []),
    ...(operands === undefined ? [] : [operands]),
  ]
  const usage = parts.at(-1) === '--' ? command : parts.join(' ')
  return [about, '', `Usage: ${usage}`, '', ...rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`)].join(
    '\n',
  )
}

const placeholders: Readonly<Record<CommandOption['kind'], string>> = {
  flag: '',
  text: ' <text>',
  texts: ' <text>',
  choice: ' <name>',
  integer: ' <count>',
  number: ' <number>',
}
