/** Runs the tests of the example as its reader does, in this process. */
import '../../examples/household/app.test.ts'
