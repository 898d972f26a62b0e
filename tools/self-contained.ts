/**
 * `npm run bundle`: makes an archive for this platform that contains Node.js, Troupe and its packages. The file `troupe` in it
 * starts them without any other program of the machine than a shell.
 */
import { spawnSync } from 'node:child_process'
import { chmodSync, copyFileSync, cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { release } from '../src/release.ts'

/** Finds its own folder with the built-in commands of the shell alone. */
const launcher = `#!/bin/sh
here=$(cd -P -- "\${0%/*}" && pwd)
exec "$here/node" "$here/node_modules/troupe/bin/troupe.js" "$@"
`

/** `linux-x64`, as the packages of Node.js are named. */
export const platform = `${process.platform}-${process.arch}`

function run(program: string, args: readonly string[], cwd: string): string {
  const { status, stdout, stderr } = spawnSync(program, args, { cwd, encoding: 'utf8', maxBuffer: 64 * 1024 ** 2 })
  if (status !== 0) throw new Error(`${program} ${args.join(' ')} failed: ${stderr}`)
  return stdout
}

/** The folders of the packages that a service loads, and of those that new projects import. */
function packagesOf(root: string): string[] {
  const listed = run('npm', ['ls', '--omit=dev', '--omit=optional', '--all', '--parseable'], root).trim().split('\n')
  const own = listed.map((path) => relative(root, path)).filter((path) => path.startsWith('node_modules'))
  return [...own.filter((path) => !path.includes('@troupe')), join('node_modules', 'zod')]
}

/**
 * Writes the content of the archive to a folder, which is created.
 *
 * @param root a checkout with installed packages.
 * @param built a checkout with `dist`, whose package is used. Default: `root`.
 */
export function assemble(root: string, folder: string, built = root): void {
  const temporary = mkdtempSync(join(tmpdir(), 'troupe-bundle-'))
  try {
    run('npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', temporary], built)
    run('tar', ['-xzf', readdirSync(temporary)[0] ?? ''], temporary)
    for (const path of packagesOf(root))
      cpSync(join(root, path), join(folder, path), { recursive: true, dereference: true })
    cpSync(join(temporary, 'package'), join(folder, 'node_modules', 'troupe'), { recursive: true })
    copyFileSync(process.execPath, join(folder, 'node'))
    copyFileSync(join(root, 'examples', 'new', 'app.ts'), join(folder, 'app.ts'))
    copyFileSync(join(root, 'LICENSE'), join(folder, 'LICENSE'))
    // The application is a module of its own.
    writeFileSync(join(folder, 'package.json'), '{"private":true,"type":"module"}\n')
    writeFileSync(join(folder, 'troupe'), launcher)
    for (const name of ['node', 'troupe']) chmodSync(join(folder, name), 0o755)
  } finally {
    rmSync(temporary, { recursive: true })
  }
}

if (import.meta.main) {
  const root = dirname(import.meta.dirname)
  run(process.execPath, [join(root, 'tools', 'build.ts')], root)
  const name = `troupe-${release}-${platform}`
  const temporary = mkdtempSync(join(tmpdir(), 'troupe-bundle-'))
  mkdirSync(join(temporary, name))
  assemble(root, join(temporary, name))
  run('tar', ['-czf', `${name}.tgz`, name], temporary)
  copyFileSync(join(temporary, `${name}.tgz`), join(root, `${name}.tgz`))
  rmSync(temporary, { recursive: true })
  process.stdout.write(`${name}.tgz\n`)
}
