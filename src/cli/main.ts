/** The commands. Each gives the exit code; what an operator did wrong is one sentence on standard error. */
import { parseArgs } from 'node:util'
import { ConfigError } from '../config/config.ts'
import { ListenError } from '../http/server.ts'
import { release } from '../release.ts'
import { StoreStartError } from '../store/start-error.ts'
import { doctor } from './doctor.ts'
import { keys } from './keys.ts'
import { run } from './run.ts'
import { UsageError } from './usage-error.ts'

const help = `Troupe ${release}: an actor service that speaks the ActingWeb protocol

Usage
  troupe dev <module>      runs an application for development: SQLite under ./data, test endpoints, a key made for you
  troupe serve <module>    runs an application for production: needs BASE_URL (https) and TROUPE_SECRET_KEYS
  troupe doctor            says what this machine and these settings would lead to
  troupe keys new          prints a new key for TROUPE_SECRET_KEYS
  troupe keys rotate       encrypts every stored secret again with the first key
  troupe --help, --version

<module> exports an application by default: export default troupe({ … })
Settings come from the environment; docs/configuration.md lists them all.
`

const commands: Readonly<Record<string, (args: readonly string[]) => Promise<number>>> = {
  dev: (args) => run('development', args),
  serve: (args) => run('production', args),
  doctor,
  keys,
}

export async function main(args: readonly string[]): Promise<number> {
  try {
    const [command, ...rest] = args
    if (command === undefined || ['help', '--help', '-h'].includes(command)) return print(help)
    if (['version', '--version', '-v'].includes(command)) return print(`${release}\n`)
    const found = Object.hasOwn(commands, command) ? commands[command] : undefined
    if (found === undefined)
      throw new UsageError(`There is no command ${JSON.stringify(command)}; troupe --help names them.`)
    return await found(parseArgs({ args: rest, allowPositionals: true, options: {} }).positionals)
  } catch (error) {
    return fail(error)
  }
}

function print(text: string): number {
  process.stdout.write(text)
  return 0
}

/** A mistake of the operator is a sentence; anything else is a fault of ours and keeps its stack. */
function fail(error: unknown): number {
  const isForOperator =
    error instanceof UsageError ||
    error instanceof ConfigError ||
    error instanceof ListenError ||
    error instanceof StoreStartError ||
    (error instanceof TypeError && (error as NodeJS.ErrnoException).code?.startsWith('ERR_PARSE_ARGS') === true)
  process.stderr.write(
    `${isForOperator ? error.message : error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
  )
  return 1
}
