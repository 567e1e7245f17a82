#include "pipeline/report_html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "pipeline/html_page.h"
#include "pipeline/report_charts.h"
#include "tests/pipeline/report_fixture.h"

namespace millrace {
namespace {

using test::drifting_report;
using test::full_report;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// Every element that is opened is closed, in order; attributes are quoted.
std::string first_wrong_tag(const std::string& page) {
  std::vector<std::string> open;
  for (std::size_t at = page.find('<'); at != std::string::npos; at = page.find('<', at + 1)) {
    const std::size_t end = page.find('>', at);
    if (end == std::string::npos) return page.substr(at, 40);
    const std::string tag = page.substr(at + 1, end - at - 1);
    const std::string name = tag.substr(tag.starts_with("/") ? 1 : 0, tag.find_first_of(" /", 1) - 0);
    if (tag.starts_with("!") || tag.ends_with("/") || name == "meta" || name == "br") continue;
    if (!tag.starts_with("/")) {
      open.push_back(name);
    } else {
      if (open.empty() || open.back() != tag.substr(1)) return tag;
      open.pop_back();
    }
  }
  return open.empty() ? "" : open.back();
}

TEST(ReportHtml, IsOneWellFormedPageThatFetchesNothing) {
  for (const auto& report : {full_report(), drifting_report(), RunReport{}}) {
    const std::string page = to_html(report);
    EXPECT_THAT(page, StartsWith("<!doctype html>"));
    EXPECT_EQ(first_wrong_tag(page), "");
    for (const char* outside : {"<script", "http:", "https:", "src=", "url(", "@import", "<link"})
      EXPECT_THAT(page, Not(HasSubstr(outside)));
  }
}

TEST(ReportHtml, HasWhatTheTextReportHas) {
  const std::string page = to_html(full_report());
  for (const char* text :
       {"I/O-bound at &#39;read&#39; (sure)", "3.12 times as fast", "Cannot help",
        "cold (0.4 % of the input was cached)", "read -&gt; decode", "a free worker", "decode starved for 405 ms",
        "lab-7", "out/calls.tsv", "Linux 6.1.0", "&quot;threads&quot;: 2", "95.3%", "closure error 0.00 %"})
    EXPECT_THAT(page, HasSubstr(text));
  EXPECT_THAT(to_html(drifting_report()), HasSubstr("since 1:02:00 another stage sets the pace"));
  EXPECT_THAT(to_html(drifting_report()), HasSubstr("12 dropped at detect_events (drop_newest)"));
}

TEST(ReportHtml, EscapesWhatComesFromOutside) {
  const std::string evil = "<script>alert('x')</script>&\"";
  RunReport report = full_report();
  report.name = evil;
  report.error = evil;
  report.status = evil;
  report.started = evil;
  report.config_json = R"({"a":"<script>"})";
  report.environment.host = evil;
  report.environment.kernel = evil;
  report.environment.millrace_version = evil;
  report.environment.paths[0] = {evil, evil, evil, 1, evil};
  for (auto& stage : report.stages) {
    stage.name = evil;
    stage.type = evil;
    stage.findings = {evil};
  }
  for (auto& link : report.links) link.from = link.to = evil;
  for (auto& row : report.blame) row.waiting = row.cause = evil;
  for (auto& stall : report.stalls) {
    stall.stage = stall.state = evil;
    stall.cause = {evil};
  }
  report.verdict = {evil, evil, evil, {evil}, {evil}, evil + ":" + evil, 2, evil};
  for (auto& phase : report.phases) phase.kind = evil;
  report.drift = {{evil, 0, 1, 1, evil, evil, evil}};
  report.outputs = {{evil, 1}};
  report.loss.dropped = {{evil, evil, 1}};
  const std::string page = to_html(report);
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, Not(HasSubstr("alert('x')")));
  EXPECT_EQ(first_wrong_tag(page), "");
}

TEST(ReportHtml, DrawsTheSeries) {
  const RunReport report = drifting_report();
  EXPECT_THAT(html::state_chart(report, 1), HasSubstr("class=\"cpu\""));
  EXPECT_THAT(html::link_chart(report, 0), HasSubstr("the top is 4"));
  EXPECT_THAT(html::rate_chart(report), HasSubstr("the top is 1.67 MiB/s"));
  EXPECT_THAT(html::memory_chart(report), HasSubstr("memory of the process"));
  RunReport without = report;
  without.samples.clear();
  EXPECT_EQ(html::state_chart(without, 0), "");
  EXPECT_EQ(html::memory_chart(without), "");
}

TEST(ReportHtml, ABarIsAsWideAsTheSlotTime) {
  StageReport stage;
  stage.time = {600, 300, 100, 0, 0};
  stage.busy = {450, 150, 0, 0};
  const std::string bar = html::state_bar(stage);
  EXPECT_THAT(bar, HasSubstr("class=\"cpu\" x=\"0.00\" y=\"0\" width=\"450.00\""));
  EXPECT_THAT(bar, HasSubstr("class=\"io\" x=\"450.00\" y=\"0\" width=\"150.00\""));
  EXPECT_THAT(bar, HasSubstr("class=\"starved\" x=\"600.00\" y=\"0\" width=\"300.00\""));
  EXPECT_THAT(bar, HasSubstr("class=\"blocked\" x=\"900.00\" y=\"0\" width=\"100.00\""));
  EXPECT_THAT(bar, Not(HasSubstr("class=\"ready\"")));
}

TEST(HtmlEscaped, TakesTextAndBytes) {
  EXPECT_EQ(html::escaped("a<b>&\"'c"), "a&lt;b&gt;&amp;&quot;&#39;c");
  EXPECT_EQ(html::escaped("gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\x98\x80"),
            "gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\x98\x80");
  const std::string replaced = "\xEF\xBF\xBD";
  EXPECT_EQ(html::escaped("\x01\x1B\x7F"), replaced + replaced + replaced);
  EXPECT_EQ(html::escaped("\xFF"), replaced);
  EXPECT_EQ(html::escaped("\xC0\xBC"), replaced + replaced) << "an overlong '<'";
  EXPECT_EQ(html::escaped("\xED\xA0\x80"), replaced + replaced + replaced) << "half a surrogate pair";
  EXPECT_EQ(html::escaped("\xE2\x82"), replaced + replaced) << "cut short";
  EXPECT_EQ(html::escaped("\xE2<"), replaced + "&lt;") << "nothing is swallowed";
  EXPECT_EQ(html::escaped("a\nb\tc"), "a\nb\tc");
}

}  // namespace
}  // namespace millrace
