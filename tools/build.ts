/**
 * `npm run build`: makes `dist` with the types of every source file, the code of the package in few files, and files that
 * the code reads at run time, such as migrations.
 */
import { spawnSync } from 'node:child_process'
import { cp, readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, isAbsolute, join } from 'node:path'
import { build } from 'rolldown'

const root = dirname(import.meta.dirname)
const dist = join(root, 'dist')
const require = createRequire(import.meta.url)
const compiler = join(dirname(require.resolve('typescript/package.json')), 'bin', 'tsc')

/** The files that package.json and bin name. Every other module becomes part of them, or of a file that they import. */
const entries = ['index', 'handles', 'mcp', 'pages', 'testing', 'cli/main']

/**
 * Packages that become part of these files: the libraries of metrics and traces, 139 modules. Both need
 * no identity shared with the application: OpenTelemetry finds the SDK by a global, and the service has its own registry of
 * metrics. Other dependencies stay packages, which an application can update.
 */
const bundled = ['@opentelemetry/api', 'bintrees', 'prom-client', 'tdigest']
const inside = [...bundled, '@oxc-project/runtime']

// Deletes dist first, because outputs of renamed sources would be published.
await rm(dist, { recursive: true, force: true })
const args = ['-p', join(root, 'tsconfig.build.json'), '--emitDeclarationOnly']
const compiled = spawnSync(process.execPath, [compiler, ...args], { stdio: 'inherit' })
if (compiled.status === 0) {
  await build({
    cwd: root,
    input: Object.fromEntries(entries.map((name) => [name, join(root, 'src', `${name}.ts`)])),
    platform: 'node',
    external: (name) =>
      /^[\w@]/.test(name) && !isAbsolute(name) && !inside.some((own) => name === own || name.startsWith(`${own}/`)),
    transform: { target: 'es2024' },
    logLevel: 'warn',
    output: {
      dir: dist,
      format: 'esm',
      entryFileNames: '[name].js',
      // All other files are in the folder itself, because `codeFolder` in src/release.ts is the folder of its own file.
      chunkFileNames: '[name]-[hash].js',
    },
  })
  await cp(join(root, 'src'), dist, { recursive: true, filter: (source) => !source.endsWith('.ts') })
  const licenses = bundled.map(
    async (name) => `${name}\n\n${await readFile(join(root, 'node_modules', name, 'LICENSE'), 'utf8')}`,
  )
  await writeFile(join(dist, 'LICENSES-of-bundled-packages'), (await Promise.all(licenses)).join('\n'))
} else {
  process.exitCode = 1
}
