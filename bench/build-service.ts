/**
 * Compiles a service as the package does, because Node.js needs about 30 MB more memory to run the sources. The servers of
 * this folder are placed beside it, so they start the service of any checkout.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire, stripTypeScriptTypes } from 'node:module'
import { dirname, join } from 'node:path'

const compiler = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin', 'tsc')
const servers = ['server-bare', 'server-troupe', 'subject', 'subject-app']

/** @param root folder of the checkout, with its `node_modules`. @param folder receives the service; must not exist. */
export function buildService(root: string, folder: string): void {
  const source = join(root, 'src')
  const args = ['-p', join(root, 'tsconfig.build.json'), '--outDir', join(folder, 'src'), '--declaration', 'false']
  // tsc refuses stripInternal without declarations.
  const compiled = spawnSync(process.execPath, [compiler, ...args, '--stripInternal', 'false'], { stdio: 'inherit' })
  if (compiled.status !== 0) throw new Error(`Cannot measure: the service in ${root} does not compile`)
  cpSync(source, join(folder, 'src'), { recursive: true, filter: (file) => !file.endsWith('.ts') })
  for (const name of ['node_modules', 'package.json']) symlinkSync(join(root, name), join(folder, name))
  mkdirSync(join(folder, 'bench'))
  for (const name of servers) {
    const text = stripTypeScriptTypes(readFileSync(join(import.meta.dirname, `${name}.ts`), 'utf8'))
    writeFileSync(join(folder, 'bench', `${name}.js`), text.replaceAll(/( from '\.[^']*)\.ts'/g, "$1.js'"))
  }
}
