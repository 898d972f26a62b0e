/**
 * Loaded before a test file. node:test follows every promise to name the test of an uncaught error. In a file with much
 * concurrent work, this takes up to half of its processor time. Without it, an uncaught error fails the file.
 */
import hooks from 'node:async_hooks'

const { createHook } = hooks
hooks.createHook = (callbacks) => createHook({ ...callbacks, trackPromises: false })
