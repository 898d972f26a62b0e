/** The public exports of this folder: JSON values, kept as text. */
export { equal } from './equal.ts'
export { array, elements, members, object } from './members.ts'
export { type LoneSurrogates, normalize, replaceLoneSurrogates } from './normalize.ts'
export { own } from './own.ts'
export { deleteAt, getAt, mergeAt } from './path.ts'
export { fromPlain, fromPlainOver, fromResult, toPlain } from './plain.ts'
export { pretty } from './pretty.ts'
export { pythonLength } from './python-length.ts'
export { storableText } from './surrogates.ts'
export {
  defaultMaxDepth,
  isArray,
  isNull,
  isObject,
  isString,
  kindOf,
  known,
  stringText,
  stringValue,
  type Json,
  type JsonKind,
  type JsonText,
} from './text.ts'
