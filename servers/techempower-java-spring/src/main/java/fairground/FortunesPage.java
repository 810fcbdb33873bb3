package fairground;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.springframework.stereotype.Controller;
import org.springframework.ui.Model;
import org.springframework.web.bind.annotation.GetMapping;

/** The page of fortunes, which the template `fortunes` writes. */
@Controller
class FortunesPage {
    private final Store store;

    FortunesPage(Store store) {
        this.store = store;
    }

    @GetMapping("/fortunes")
    String fortunes(Model model) {
        List<Fortune> fortunes = new ArrayList<>(store.fortunes());
        fortunes.add(new Fortune(0, "Additional fortune added at request time."));
        fortunes.sort(Comparator.comparing(Fortune::message));
        model.addAttribute("fortunes", fortunes);
        return "fortunes";
    }
}
