// A reporter that names each test that passed on its second try only, with the error of its first.

export default class SecondTries {
  onTestRunEnd(testModules) {
    const found = testModules.flatMap((testModule) =>
      [...testModule.children.allTests()].filter((test) => test.diagnostic()?.flaky === true),
    );
    if (found.length === 0) return;
    console.log(`\n${String(found.length)} passed on the second try only:`);
    for (const test of found) {
      console.log(`  ${test.module.moduleId} > ${test.fullName}`);
      for (const { message } of test.result().errors ?? []) console.log(`    ${message.split('\n')[0]}`);
    }
  }
}
