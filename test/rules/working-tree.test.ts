import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { git, withChangedFiles, workingTree } from '../support/working-tree.ts'

const author = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com', '-c', 'commit.gpgSign=false']

describe('a test run', () => {
  let root = ''
  const commit = (): void => {
    git(root, 'add', '.')
    git(root, ...author, 'commit', '--quiet', '--message', 'add files')
  }
  const write = (name: string, text: string): void => writeFileSync(join(root, name), text)
  const remove = (name: string): void => rmSync(join(root, name))

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'troupe-tree-'))
    git(root, 'init', '--quiet')
    mkdirSync(join(root, 'docs'))
    write('.gitignore', 'data/\n')
    for (const name of ['clean.md', 'modified.md', 'docs/page.md']) write(name, 'committed\n')
    commit()
    write('modified.md', 'modified\n')
    write('untracked.md', 'untracked\n')
    symlinkSync('clean.md', join(root, 'link'))
  })
  afterEach(() => rmSync(root, { recursive: true }))

  /** Returns the totals and the output of a run with 3 passed tests and 1 failed test. */
  function run(change: () => void): { readonly failed: number; readonly lines: readonly string[] } {
    const before = workingTree(root)
    change()
    const lines: string[] = []
    const { failed } = withChangedFiles(root, before, { passed: 3, failed: 1 }, (line) => lines.push(line))
    return { failed, lines }
  }

  it('reports nothing when it leaves all files as they were', () => {
    const unchanged = (): void => {
      write('modified.md', 'modified\n')
      write('clean.md', 'other\n')
      write('clean.md', 'committed\n')
      mkdirSync(join(root, 'data'))
      write('data/ignored.md', 'ignored\n')
    }
    assert.deepEqual(run(unchanged), { failed: 1, lines: [] })
  })

  it('reports nothing when files are committed with the same content', () => {
    assert.deepEqual(run(commit), { failed: 1, lines: [] })
  })

  const changes: readonly (readonly [title: string, change: () => void, path: string])[] = [
    ['a committed file that it changed', () => write('docs/page.md', 'changed\n'), 'docs/page.md'],
    ['a committed file that it deleted', () => remove('clean.md'), 'clean.md'],
    ['a file that it left behind', () => write('left behind: ä\n.md', ''), 'left behind: ä\n.md'],
    ['a modified file that it changed', () => write('modified.md', 'changed\n'), 'modified.md'],
    ['a modified file that it restored', () => write('modified.md', 'committed\n'), 'modified.md'],
    ['an untracked file that it changed', () => write('untracked.md', 'changed\n'), 'untracked.md'],
    ['an untracked file that it deleted', () => remove('untracked.md'), 'untracked.md'],
    [
      'a link that it changed',
      () => {
        remove('link')
        symlinkSync('docs/page.md', join(root, 'link'))
      },
      'link',
    ],
  ]
  for (const [title, change, path] of changes) {
    it(`counts ${title} as failed`, () => {
      assert.deepEqual(run(change), { failed: 2, lines: [`✖ The run changed ${path}`, '\n3 passed, 2 failed'] })
    })
  }

  it('counts each changed file', () => {
    const change = (): void => {
      mkdirSync(join(root, 'left'))
      for (const name of ['left/b.md', 'left/a.md', 'clean.md']) write(name, 'changed\n')
    }
    const lines = ['clean.md', 'left/a.md', 'left/b.md'].map((path) => `✖ The run changed ${path}`)
    assert.deepEqual(run(change), { failed: 4, lines: [...lines, '\n3 passed, 4 failed'] })
  })

  it('says that it compared nothing in a copy without a repository', () => {
    rmSync(join(root, '.git'), { recursive: true })
    const lines = ['No repository to compare: whether the run changed files was not checked', '3 passed, 1 failed']
    assert.deepEqual(
      run(() => write('clean.md', 'changed\n')),
      { failed: 1, lines },
    )
  })
})
