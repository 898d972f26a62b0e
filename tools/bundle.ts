/** Joins modules of this project into few files, as the published package has them. */
import { cp, readdir, readFile, writeFile } from 'node:fs/promises'
import { isAbsolute, join } from 'node:path'
import { build } from 'rolldown'

/**
 * Packages that become part of these files: the libraries of metrics, traces, the log, HTML and JSON Schema, more than 200
 * modules. They need no identity shared with the application: OpenTelemetry finds the SDK by a global, the service has its
 * own registry of metrics and its own log, and safe HTML is known by a member. Other dependencies stay packages, which an
 * application can update.
 */
const bundled = [
  '@eslint-community/regexpp',
  '@opentelemetry/api',
  '@pinojs/redact',
  'ajv',
  'atomic-sleep',
  'bintrees',
  'fast-deep-equal',
  'fast-uri',
  'hono',
  'json-schema-traverse',
  'on-exit-leak-free',
  'pino',
  'pino-std-serializers',
  'prom-client',
  'quick-format-unescaped',
  'real-require',
  'require-from-string',
  'safe-stable-stringify',
  'sonic-boom',
  'tdigest',
  'thread-stream',
]
/** Modules that every start loads and that commands load too. */
const startModules = [
  'actor/address',
  'actor/all-actors',
  'actor/lookup',
  'actor/passphrases',
  'actor/system-actor',
  'app-feature/define',
  'app-feature/page',
  'app-feature/request',
  'app-feature/table',
  'archive/archive-reader',
  'archive/archived-content',
  'archive/check-archive',
  'archive/export-actor',
  'archive/gzip',
  'archive/record-kinds',
  'archive/record-rows',
  'archive/restore-actor',
  'archive/restored-rows',
  'audit-log/audit-log-store',
  'authorization-server/client',
  'authorization-server/client-store',
  'cli/output',
  'cli/project/known-project',
  'cli/stop-signal',
  'cli/usage-error',
  'cli/welcome',
  'config/config',
  'config/env',
  'config/option',
  'history/history-store',
  'json/is-record',
  'list/removed-lists',
  'mcp/protocol/failure',
  'moving/arrival-store',
  'moving/departure-store',
  'moving/proof',
  'moving/stop-move',
  'object/open-bytes',
  'object/unused-objects',
  'operator/account-acts',
  'operator/actor-facts',
  'operator/actor-list',
  'operator/actor-ranking',
  'operator/redrive',
  'peer/url-rules',
  'permission/reserved-ids',
  'publication/changed-rights',
  'publication/diff-store',
  'publication/publisher-store',
  'publication/queue-store',
  'quota/quota',
  'quota/quota-store',
  'quotas',
  'rate-limit/resets',
  'replica/facts-store',
  'replica/subscriber-store',
  'secret/hash',
  'secret/identity-proof',
  'secret/key-ring',
  'secret/sealed',
  'sign-in/account-store',
  'sign-in/configured',
  'sign-in/own/usable-sign-ins',
  'sign-in/provider',
  'store/lock-actor',
  'store/migrate',
  'store/portable',
  'store/schema-text',
  'store/sqlite/failure',
  'subscription/scope',
  'table/placement',
  'token/one-time',
  'token/tokens',
  'trust/names/reserved-names',
  'trust/new-trust',
  'trust/permissions',
  'trust/trust-notifications',
]
const isStartModule = new RegExp(`/src/(${startModules.join('|')})\\.ts$`)
const inside = [...bundled, '@oxc-project/runtime']

/** The files that package.json and bin name. Every other module becomes part of them, or of a file that they import. */
const entries = ['index', 'handles', 'mcp', 'pages', 'feature', 'testing', 'client', 'react', 'cli/main']

function packageEntries(root: string): Readonly<Record<string, string>> {
  return Object.fromEntries(entries.map((name) => [name, join(root, 'src', `${name}.ts`)]))
}

/**
 * Writes the files of the entries, the files that they share, and files that the code reads at run time, such as migrations.
 *
 * @param root folder of the project, with its `src` and `node_modules`.
 * @param input source files of the entries, by the name of the file to write. Default: those of the package.
 */
export async function bundle(root: string, folder: string, input = packageEntries(root)): Promise<void> {
  const { output } = await build({
    cwd: root,
    input: { ...input },
    platform: 'node',
    external: (name) =>
      /^[\w@]/.test(name) && !isAbsolute(name) && !inside.some((own) => name === own || name.startsWith(`${own}/`)),
    transform: { target: 'es2024' },
    logLevel: 'warn',
    output: {
      dir: folder,
      format: 'esm',
      entryFileNames: '[name].js',
      // All other files are in the folder itself, because `codeFolder` in src/release.ts is the folder of its own file.
      chunkFileNames: '[name]-[hash].js',
      // Every start reads these modules, which commands read too. One file for them takes less time than four.
      codeSplitting: {
        groups: [{ name: 'actor-data', test: (id) => isStartModule.test(id.replaceAll('\\', '/')) }],
      },
      comments: false,
    },
  })
  // V8 keeps the text of a file in half of the memory if all its characters are ASCII.
  for (const file of output)
    if (file.type === 'chunk') await writeFile(join(folder, file.fileName), withEscapes(file.code))
  await cp(join(root, 'src'), folder, { recursive: true, filter: (source) => !source.endsWith('.ts') })
}

/** Returns the licenses of the packages that are part of the files. */
export async function bundledLicenses(root: string): Promise<string> {
  const licenses = bundled.map(async (name) => `${name}\n\n${await licenseOf(join(root, 'node_modules', name))}`)
  return (await Promise.all(licenses)).join('\n')
}

/** Escapes all characters except ASCII. Without comments, they occur only in strings, templates and regular expressions. */
function withEscapes(code: string): string {
  return code.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

async function licenseOf(folder: string): Promise<string> {
  const file = (await readdir(folder)).find((name) => /^license(\.md)?$/i.test(name))
  if (file === undefined) throw new Error(`Cannot publish the package in ${folder}: it has no file with its license`)
  return readFile(join(folder, file), 'utf8')
}
