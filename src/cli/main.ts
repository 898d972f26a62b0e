/** The commands. Each gives the exit code; what an operator did wrong is one sentence on standard error. */
import { ConfigError } from '../config/config.ts'
import { ServiceError } from '../errors.ts'
import { ListenError } from '../http/edge/server.ts'
import { release } from '../release.ts'
import { StoreStartError } from '../store/start-error.ts'
import { UsageError } from './usage-error.ts'

const help = `Troupe ${release}: an actor service that speaks the ActingWeb protocol

Usage
  troupe dev <module>      runs an application for development: SQLite under ./data, test endpoints, a key made for you
  troupe serve <module>    runs an application for production: needs BASE_URL (https) and TROUPE_SECRET_KEYS
  troupe doctor [deep]     says what this machine and these settings would lead to; reads every value if asked
  troupe keys new          prints a new key for TROUPE_SECRET_KEYS
  troupe keys rotate       encrypts every stored secret again with the first key
  troupe redrive           sends again what could not be told to peers; [actor [peer [subscription]]] narrows it
  troupe --help, --version; troupe <command> --help tells more about one

<module> exports an application by default: export default troupe({ … })
Settings come from the environment; docs/configuration.md lists them all.
`

const settings = 'Settings come from the environment; docs/configuration.md lists them all.\n'

/** What `troupe <command> --help` says. */
const usage: Readonly<Record<string, string>> = {
  dev: `troupe dev <module>

Runs an application for development, at http://localhost:3000 unless PORT says otherwise. Data is kept in ./data, a key is
made there at the first start, people sign in without a password, and why a request failed is written to standard error.
<module> is a file that exports an application by default, in JavaScript or TypeScript: troupe dev app.ts

${settings}`,
  serve: `troupe serve <module>

Runs an application for production. It needs
  BASE_URL             the address that people reach it at: https://notes.example.com
  TROUPE_SECRET_KEYS   what secrets are encrypted with: troupe keys new
and mostly
  TROUPE_PROVIDERS     who signs people in, such as google; the application may name them, too
  DATABASE_URL         where data is kept: PostgreSQL, or an SQLite file
troupe doctor says whether everything is there.

${settings}`,
  doctor: `troupe doctor [deep]

Says what this machine and these settings would lead to, and what is missing. It changes nothing. With deep it reads every
value that is stored, and names those that were damaged and the secrets that no configured key opens. What it looks at is production, as troupe serve runs it; what
troupe dev would find is told by: TROUPE_MODE=development troupe doctor

${settings}`,
  keys: `troupe keys new       prints a new key for TROUPE_SECRET_KEYS
troupe keys rotate    encrypts every stored secret again with the first key of TROUPE_SECRET_KEYS

To change a key: put a new one before the old one, start every process anew, rotate, and take the old one away.

${settings}`,
  redrive: `troupe redrive [actor [peer [subscription]]]

Sends again what failed for good on its way to peers and is still kept: all of it, or that of one actor, of one peer of it,
of one subscription.

${settings}`,
}

/** Each is loaded when it is the one: help needs no database driver. */
const commands: Readonly<Record<string, (args: readonly string[]) => Promise<number>>> = {
  dev: async (args) => (await import('./run.ts')).run('development', args),
  serve: async (args) => (await import('./run.ts')).run('production', args),
  doctor: async (args) => (await import('./doctor.ts')).doctor(args),
  keys: async (args) => (await import('./keys.ts')).keys(args),
  redrive: async (args) => (await import('./redrive.ts')).redrive(args),
}

export async function main(args: readonly string[]): Promise<number> {
  try {
    const [command, ...rest] = args
    if (command === undefined || ['help', '--help', '-h'].includes(command)) return print(help)
    if (['version', '--version', '-v'].includes(command)) return print(`${release}\n`)
    const found = Object.hasOwn(commands, command) ? commands[command] : undefined
    if (found === undefined)
      throw new UsageError(`There is no command ${JSON.stringify(command)}; troupe --help names them.`)
    if (rest.some((word) => word === '--help' || word === '-h')) return print(usage[command] ?? help)
    const option = rest.find((word) => word.startsWith('-'))
    if (option !== undefined)
      throw new UsageError(`troupe ${command} takes no option ${option}; settings come from the environment.`)
    return await found(rest)
  } catch (error) {
    return fail(error)
  }
}

function print(text: string): number {
  process.stdout.write(text)
  return 0
}

/** What the operator can mend is a sentence; anything else is a fault of ours and keeps its stack. */
function fail(error: unknown): number {
  const isForOperator =
    error instanceof UsageError ||
    error instanceof ConfigError ||
    error instanceof ListenError ||
    error instanceof StoreStartError
  if (error instanceof ServiceError) {
    process.stderr.write(`${error.detail.reason ?? error.message}.\n`)
    return 1
  }
  process.stderr.write(
    `${isForOperator ? error.message : error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
  )
  return 1
}
